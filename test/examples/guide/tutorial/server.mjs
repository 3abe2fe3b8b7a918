import { files, serveHttp, startServer } from 'caduceus'
import { notes } from './notes.mjs'

const server = await startServer(notes, {
  transport: serveHttp({ port: Number(process.env.PORT ?? 3000) }),
  engine: files({ folder: process.env.FOLDER ?? 'sessions' }),
})
console.log(server.url)
