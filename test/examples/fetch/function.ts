import { serveFetch } from 'caduceus/fetch'
import { greeter } from './greeter.js'

const handler = serveFetch(greeter, {
  path: '/api/mcp',
  allowedHosts: ['mcp.example.com'],
  revisions: ['2026-07-28'], // without sessions: requests may meet any instance
})

export default handler // Deno Deploy, `deno serve`, Bun, Vercel
export const { fetch: GET, fetch: POST, fetch: DELETE } = handler // a route of Next.js: app/api/mcp/route.ts
