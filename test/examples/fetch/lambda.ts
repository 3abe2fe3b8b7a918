import { serveFetch } from 'caduceus/fetch'
import { greeter } from './greeter.js'

export const server = serveFetch(greeter, {
  allowedHosts: ['mcp.example.com'],
  revisions: ['2026-07-28'], // without sessions: calls may meet any instance
})

/** What a function URL, or an HTTP API of API Gateway, calls a function with (payload format 2.0). */
interface HttpEvent {
  readonly rawPath: string
  readonly rawQueryString: string
  readonly headers: Record<string, string>
  readonly requestContext: { readonly http: { readonly method: string } }
  readonly body?: string
  readonly isBase64Encoded: boolean
}

export async function handler(event: HttpEvent) {
  const { rawPath, rawQueryString, headers, requestContext, body, isBase64Encoded } = event
  const request = new Request(`https://${headers.host}${rawPath}?${rawQueryString}`, {
    method: requestContext.http.method,
    headers,
    signal: AbortSignal.timeout(25_000), // a stream that does not end costs no more time than that
    ...(body !== undefined && { body: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8') }),
  })
  const response = await server.fetch(request, event)
  const text = await response.text().catch(() => undefined) // with its whole stream, when the call is over
  if (text === undefined) return { statusCode: 504, headers: {}, body: '' }
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: text,
  }
}
