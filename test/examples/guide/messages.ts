import {
  answerInvalid,
  buildError,
  buildNotification,
  buildRequest,
  buildResult,
  decode,
  encode,
  encodeBatch,
  errorCodes,
  isMethod,
  isNotification,
  isNotificationMethod,
  isRequest,
  isRequestId,
  isResourceNotFound,
  isResponse,
  McpError,
  ProtocolError,
  readMessage,
  readNotificationParams,
  readParams,
  readResult,
  toJsonRpcError,
} from 'caduceus/protocol'

// a text becomes a message, or an error that says what is wrong with it
const request = buildRequest(1, 'tools/call', { name: 'add', arguments: { a: 1 } })
const [message] = [decode(encode(request))].flat()
console.log(message !== undefined && !(message instanceof ProtocolError) && isRequest(message))
try {
  decode('{"jsonrpc":"1.0","id":7,"method":"ping"}')
} catch (error) {
  if (error instanceof ProtocolError) console.log(error.code, encode(answerInvalid(error) ?? request))
}

// known methods have types: what does not fit is refused with the path
console.log(readParams('tools/call', request.params).name)
try {
  readParams('tools/call', { name: 7 })
} catch (error) {
  if (error instanceof McpError) console.log(error.code === errorCodes.invalidParams, error.message)
}
console.log(readResult('tools/list', { tools: [] }).tools.length)
console.log(readNotificationParams('notifications/progress', { progressToken: 1, progress: 2 }).progress)
console.log(isMethod('tools/fly'), isNotificationMethod('notifications/progress'), isRequestId(null))

// answers
const gone = new McpError(errorCodes.invalidParams, 'Resource not found', { data: { uri: 'a://b' } })
console.log(encode(buildError(1, toJsonRpcError(gone))), isResourceNotFound(gone))
const told = buildNotification('notifications/initialized')
console.log(isNotification(told), isResponse(readMessage(buildResult(1, {}))))
console.log(encodeBatch([told, buildResult(1, {})]))
