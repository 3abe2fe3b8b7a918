import { TransportError } from '../../transports/base/errors.js'

/** Why a session cannot be served at the moment; it is worth trying again. */
export function unavailable(engine: string, problem: string): TransportError {
  return new TransportError('CLUSTER_UNAVAILABLE', problem, { retryable: true, data: { engine } })
}

export function isUnavailable(error: unknown): error is TransportError {
  return error instanceof TransportError && error.code === 'CLUSTER_UNAVAILABLE'
}
