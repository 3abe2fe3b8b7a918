import { observe, serveHttp, startServer } from 'caduceus'
import { calculator } from './first/calculator.js'

await startServer(calculator, { transport: serveHttp({ port: Number(process.env.PORT ?? 3000) }) })
const { url } = await observe({ name: 'calculator', port: Number(process.env.VIEW_PORT ?? 4000) })
console.log(url) // http://127.0.0.1:4000/#secret=…
