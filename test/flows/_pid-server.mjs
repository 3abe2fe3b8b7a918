// A server on standard input and output that loads nothing: what is looked at is the program that starts it. Its
// one tool, `pid`, says the id of this process.
let unfinished = ''
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (unfinished + chunk).split('\n')
  unfinished = lines.pop()
  for (const line of lines) take(JSON.parse(line))
})

function take({ id, method, params }) {
  if (id === undefined) return
  const answer = answerTo(method, params)
  const error = { code: -32601, message: 'Method not found' }
  console.log(
    JSON.stringify({ jsonrpc: '2.0', id, ...(answer === undefined ? { error } : { result: answer }) }),
  )
}

function answerTo(method, params) {
  const inputSchema = { type: 'object' }
  if (method === 'tools/list') return { tools: [{ name: 'pid', inputSchema }] }
  if (method === 'tools/call') return { content: [{ type: 'text', text: String(process.pid) }] }
  if (method === 'ping') return {}
  if (method !== 'initialize') return undefined
  const serverInfo = { name: 'pid', version: '1' }
  return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
}
