import { serveHttp, startServer } from 'caduceus'
import { calculator } from './calculator.js'

const { url } = await startServer(calculator, {
  transport: serveHttp({ port: Number(process.env.PORT ?? 3000) }),
})
console.log(url) // http://127.0.0.1:3000/mcp
