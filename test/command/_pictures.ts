// A server whose tool returns two images and a text; a second call leaves a mark.
import { existsSync, writeFileSync } from 'node:fs'
import { defineServer, defineTool, serveStdio, startServer } from 'caduceus'

const image = (bytes: Buffer) =>
  ({ type: 'image', data: bytes.toString('base64'), mimeType: 'image/png' }) as const
const shots = defineTool({
  name: 'shots',
  run() {
    writeFileSync(existsSync('called') ? 'called-twice' : 'called', '')
    return {
      content: [
        { type: 'text', text: 'two shots' },
        image(Buffer.from([0xff, 0x00, 0x0a])),
        image(Buffer.from('second')),
      ],
    } as const
  },
})

await startServer(defineServer({ name: 'pictures', version: '1.0.0', tools: [shots] }), {
  transport: serveStdio(),
  logger: false,
})
