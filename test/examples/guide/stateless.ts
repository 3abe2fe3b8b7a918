import {
  buildRequest,
  cacheableMethods,
  checkModernHeaders,
  checkParamHeaders,
  claimsEnvelope,
  decodeHeaderValue,
  dialect20260728,
  embedQuestion,
  encodeHeaderValue,
  eraOfHttp,
  errorCodes,
  headerParams,
  judgeProbe,
  type McpError,
  metaKeys,
  mirroredHeaders,
  missingClientCapabilities,
  modernStatusOf,
  notKept,
  paramHeaders,
  pin,
  readCacheHints,
  readEnvelope,
  readOutcome,
  retriedMethods,
  retryParams,
  stampResult,
  unsupported,
  urlElicitations,
  writeEnvelope,
} from 'caduceus/protocol'

// every request of 2026-07-28 says who asks, in which revision, and what that client can do
const envelope = {
  revision: '2026-07-28',
  clientInfo: { name: 'agent', version: '1.0.0' },
  clientCapabilities: {},
  logLevel: undefined,
}
const params = { name: 'weather', arguments: { city: 'Köln' }, _meta: writeEnvelope(envelope) }
const request = buildRequest(1, 'tools/call', params)
console.log(
  claimsEnvelope(request),
  readEnvelope(request).clientInfo?.name,
  metaKeys.protocolVersion in params._meta,
)

// over HTTP headers repeat what proxies look at; the server compares them with the body
const headers = { ...mirroredHeaders(request, '2026-07-28') }
console.log(headers)
checkModernHeaders(request, envelope, headers)
console.log(eraOfHttp(request, headers).era, pin('none', request).pinned)

// arguments that a tool wants in headers (`x-mcp-header` in its schema)
const plan = headerParams({
  type: 'object',
  properties: { city: { type: 'string', 'x-mcp-header': 'City' } },
})
const mirrored = paramHeaders(plan, params.arguments)
console.log(mirrored, decodeHeaderValue(encodeHeaderValue('Köln')))
checkParamHeaders(
  plan,
  params.arguments,
  Object.fromEntries(Object.entries(mirrored).map(([k, v]) => [k.toLowerCase(), v])),
)

// a server that has to ask answers with its questions, and the client calls again with the answers
const question = embedQuestion(dialect20260728, 'roots/list', {})
const asked = { resultType: 'input_required', inputRequests: { where: question }, requestState: 'sealed' }
console.log(retriedMethods.has('tools/call'), readOutcome('tools/call', asked).type)
const again = retryParams(params, { where: { roots: [] } }, 'sealed')
console.log(Object.keys(again).join())

// results say how long they may be kept
const stamped = stampResult('tools/list', { tools: [] }, { serverInfo: { name: 'sky', version: '1' } })
console.log(readCacheHints(stamped as object, notKept).ttlMs, cacheableMethods.has('tools/list'))

// errors of this revision, and their HTTP status
const errors: McpError[] = [unsupported('2030-01-01'), missingClientCapabilities(['sampling'])]
for (const { code } of errors) console.log(code, modernStatusOf(code))
console.log(urlElicitations({ code: errorCodes.urlElicitationRequired, data: { elicitations: [] } }).length)

// which era a server is of, by what it answers to `server/discover`
console.log(judgeProbe({ type: 'status', status: 404 }, { over: 'http', isSecond: false }).verdict)
