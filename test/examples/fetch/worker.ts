import { sealed, serveFetch } from 'caduceus/fetch'
import { greeter } from './greeter.js'

export default serveFetch<{ KEY: string }>(greeter, ({ KEY }) => ({
  allowedHosts: ['mcp.example.com'],
  engine: sealed({ keys: [KEY] }), // 32 characters or more, by `wrangler secret put KEY`
}))
