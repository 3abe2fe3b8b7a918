import {
  acceptRevision,
  acceptsNotification,
  acceptsRequest,
  allHandshakeDialects,
  allRevisions,
  dialect20241105,
  dialect20250618,
  dialect20251125,
  dialect20260728,
  dialectOf,
  elicitationModes,
  fitError,
  fitNotification,
  fitParams,
  fitResult,
  handshakeRevisions,
  hasCapability,
  isModernRevision,
  isSupported,
  latestHandshake,
  methods,
  missingCapability,
  missingForQuestion,
  modernDialectOf,
  modernDialects,
  modernRevisions,
  negotiate,
  notifications,
  revisionWithoutHeader,
} from 'caduceus/protocol'

console.log(allRevisions.join(' '))
console.log(handshakeRevisions.length, 'with a handshake,', modernRevisions.length, 'without')
console.log(latestHandshake === dialect20251125, modernDialects.includes(dialect20260728))
console.log(isSupported('2019-01-01'), isModernRevision('2026-07-28'), revisionWithoutHeader)

// `initialize`: the server answers with what it speaks, and the client accepts it or goes
console.log(negotiate('2019-01-01').revision, acceptRevision('2025-06-18').revision)
console.log(
  dialectOf('2025-06-18') === dialect20250618,
  modernDialectOf('2025-06-18'),
  allHandshakeDialects.length,
)

// what a revision has
console.log(acceptsRequest(dialect20260728, 'server', 'initialize'), Object.keys(methods).length > 20)
console.log(
  acceptsNotification(dialect20241105, 'client', 'notifications/message'),
  Object.keys(notifications).length > 8,
)

// what a revision lacks is left out, or becomes text
const content = [{ type: 'audio' as const, data: '', mimeType: 'audio/wav' }]
console.log(fitResult(dialect20241105, 'tools/call', { content }).content[0]?.type)
const params = { name: 'a', arguments: {}, task: { ttl: 1 } }
console.log(Object.keys(fitParams(dialect20241105, 'tools/call', params)).join())
const progress = { progressToken: 1, progress: 1, message: 'half' }
console.log(Object.keys(fitNotification(dialect20241105, 'notifications/progress', progress)).join())
console.log(
  fitError(dialect20241105, { code: -32602, message: 'Resource not found', data: { uri: 'a:' } }).code,
)

// capabilities, by their paths
const client = { elicitation: { form: {} } }
console.log(hasCapability(client, 'elicitation.form'), elicitationModes(dialect20251125, client).join())
console.log(missingCapability('sampling/createMessage', client, dialect20251125))
console.log(missingForQuestion(dialect20251125, 'roots/list', {}, client))
