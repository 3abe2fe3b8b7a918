import { withClient } from 'caduceus/client'
import { http } from 'caduceus/transports'

/**
 * An agent in a Worker: it calls a tool of a server elsewhere, in the era and with the patience that it is
 * told.
 */
export const worker = {
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url)
    const [url = '', tool = '', era = 'auto'] = ['url', 'tool', 'era'].map(
      (name) => searchParams.get(name) ?? undefined,
    )
    const heard: number[] = []
    const options = {
      transport: http(url),
      era: era as 'auto' | 'handshake',
      logger: false as const,
      onElicit: () => ({ action: 'accept' as const, content: { amount: 3 } }),
    }
    try {
      const text = await withClient(options, async (client) => {
        const args = JSON.parse(searchParams.get('args') ?? '{}')
        const onProgress = ({ progress }: { readonly progress: number }) => void heard.push(progress)
        return (await client.callTool(tool, args, { onProgress })).text
      })
      return Response.json({ text, heard })
    } catch (error) {
      return Response.json({ error: String(error), code: (error as { code?: string }).code }, { status: 500 })
    }
  },
}
