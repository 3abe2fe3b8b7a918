import { mount, startServer } from 'caduceus'
import express from 'express'
import { calculator } from './calculator.js'

const mcp = mount()
await startServer(calculator, { transport: mcp })

const app = express()
app.use('/mcp', mcp.handler)
const listening = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(listening.address()),
)
