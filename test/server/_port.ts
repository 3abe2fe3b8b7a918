import { type Envelope, type JsonRpcRequest, mirroredHeaders } from 'caduceus/protocol'
import type { Outcome, Peer, Response, ServedConnection, ServerPort, Sink } from 'caduceus/transports'
import type { ExchangeAnswer } from '../support/ports.js'

/** A request of 2026-07-28, given to a server as an HTTP listener does. */
export type Posted = {
  readonly request: JsonRpcRequest
  readonly envelope: Envelope
  /** Where notifications go. */
  readonly sink: Sink
  readonly peer: Peer
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
  /** Whether it comes through a pipe, which has no headers. Default false. */
  readonly isPiped?: boolean
}

/** Resolves with the outcome; rejects with the error of one that failed. */
export function post(port: ServerPort, posted: Posted): Promise<ExchangeAnswer> {
  return posted.isPiped === true ? pipe(port, posted) : postTo(port, posted)
}

/** A pipe does not say whether it was refused. */
function pipe(port: ServerPort, { request, sink, peer }: Posted): Promise<ExchangeAnswer> {
  return new Promise((resolve) => {
    const connection: ServedConnection = {
      state: { pinned: 'none', sessionId: undefined, dialect: undefined },
      peer,
      isStalled: false,
      isPipe: false,
      write: (answer) => resolve({ response: answer as Response, refused: false }),
      send: (message) => sink.send(message),
      begun: () => {},
      onProgress: () => {},
      nextTurn: () => {},
      sessionEnded: () => {},
      report: () => {},
    }
    port.connect(connection).receive(JSON.stringify(request), peer)
  })
}

function postTo(port: ServerPort, posted: Posted): Promise<ExchangeAnswer> {
  const { request, sink, signal } = posted
  const headers = { ...mirroredHeaders(request, posted.envelope.revision), ...posted.peer.headers }
  return new Promise((resolve, reject) => {
    const end = (outcome: Outcome): void => {
      if (outcome.type === 'failed') reject(outcome.error)
      else if (outcome.type === 'answered') resolve({ response: outcome.response, refused: false })
      else if (outcome.type === 'accepted') resolve({ response: undefined, refused: false })
      else if (outcome.type === 'refused') resolve({ response: outcome.response, refused: true })
      else reject(new Error(`unexpected: ${outcome.type}`))
    }
    let gone: (() => void) | undefined
    signal.addEventListener('abort', () => gone?.(), { once: true })
    port.receive({
      text: JSON.stringify(request),
      peer: { ...posted.peer, headers },
      acceptsBoth: true,
      sink: {
        isOver: false,
        send: (message) => sink.send(message),
        expects: () => {},
        onGone(fn) {
          gone = fn
          if (signal.aborted) fn?.()
        },
        end,
      },
    })
  })
}
