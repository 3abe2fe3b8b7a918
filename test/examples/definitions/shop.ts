import { defineServer, defineTool, field, type ServerOptions, serveHttp } from 'caduceus'

const add = defineTool({
  name: 'add',
  input: { item: field.string() },
  session: true,
  run: async ({ item }, ctx) =>
    (await ctx.update('cart', (cart: string[] = []) => [...cart, item])).join(', '),
})

export default defineServer({ name: 'shop', version: '1.0.0', tools: [add] })

/** What cannot be copied to a process, such as functions. It counts more than the options of `startServer`. */
export const options: Partial<ServerOptions> = {
  transport: serveHttp({ authenticate: () => ({ issuer: 'shop', subject: 'guest' }) }),
}
