import { TransportError } from '../../transports/base/errors.js'

/** Why a session cannot be served at the moment; it is worth trying again. Anybody may read the `reason`. */
export function unavailable(engine: string, problem: string, reason?: string): TransportError {
  const data = { engine, ...(reason !== undefined && { reason }) }
  return new TransportError('CLUSTER_UNAVAILABLE', problem, { retryable: true, data })
}

export function isUnavailable(error: unknown): error is TransportError {
  return error instanceof TransportError && error.code === 'CLUSTER_UNAVAILABLE'
}
