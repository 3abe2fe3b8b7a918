import { type DeferredAnswer, defineMethod, defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'

const jobs: DeferredAnswer<string>[] = []

/** Answered by whoever takes the job. */
const work = defineTool({
  name: 'work',
  timeout: 60_000,
  run(_args, ctx) {
    const reply = ctx.defer<string>()
    jobs.push(reply)
    return reply.answer
  },
})

const server = defineServer({
  name: 'workshop',
  version: '1.0.0',
  tools: [work],
  methods: {
    'workshop/finish': defineMethod({
      params: { outcome: field.string() },
      run: ({ outcome }) => ({ finished: jobs.shift()?.resolve(outcome) === true }),
    }),
  },
  async handleRequest(request, _ctx, next) {
    if (request.method === 'tools/call' && request.params.name === 'whoami')
      return { content: [{ type: 'text', text: 'made up' }] }
    return next()
  },
})

await using pair = await connect(server)
const call = pair.client.callTool('work')
while (jobs.length === 0) await pair.client.ping()
console.log(await pair.client.request('workshop/finish', { outcome: 'a chair' }))
console.log((await call).text)
console.log((await pair.client.callTool('whoami')).text)
