import {
  comment,
  createEventDecoder,
  createLineDecoder,
  decode,
  dialect20241105,
  dialect20250326,
  encodeEvent,
  openBatch,
} from 'caduceus/protocol'

// lines, as over standard input; chunks may end anywhere
const lines = createLineDecoder({ maxMessageBytes: 1_000 })
const bytes = new TextEncoder().encode('{"jsonrpc":"2.0","method":"ping","id":1}\n{"jsonrpc"')
for (const item of [...lines.push(bytes.subarray(0, 10)), ...lines.push(bytes.subarray(10))])
  console.log(item.type, item.type === 'line' && item.text.length)
console.log(lines.unfinished, 'bytes are left')

// server-sent events
const events = createEventDecoder()
const text = `${comment('keep-alive')}${encodeEvent({ id: '7', data: '{"a":1}' })}`
for (const item of events.push(new TextEncoder().encode(text)))
  if (item.type === 'event') console.log(item.id, item.data)

// several messages in one text: 2025-03-26 has that, others have not
const batch = decode('[{"jsonrpc":"2.0","method":"ping","id":1},{"jsonrpc":"2.0"}]')
if (Array.isArray(batch)) {
  const { messages, refusals } = openBatch(batch, dialect20250326)
  console.log(messages.length, 'message,', refusals.length, 'refusal')
  try {
    openBatch(batch, dialect20241105)
  } catch (error) {
    console.log((error as Error).message)
  }
}
