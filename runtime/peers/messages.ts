import type { SendHandle } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { deserialize, serialize } from 'node:v8'
import type { LogLevels } from '../faults/log.js'
import type { Question, Report } from '../watch/elsewhere.js'
import type { OwnRef, Packed } from './values.js'

/**
 * Messages between the two sides of a border. Processes are named by the number their own side gave them.
 */
export type BorderMessage =
  /** The first message, from the parent. */
  | {
      readonly type: 'start'
      readonly module: string
      readonly args: Packed
      /** Bytes that it may send at once. */
      readonly maxMessageBytes: number
      readonly name: string
      /** Whether a process looks itself whether its loop turns, to tell whose code it is. */
      readonly reports: boolean
      /** What the other side logs, on standard error. */
      readonly log: { readonly style: 'text' | 'json' | false; readonly logLevels: LogLevels | undefined }
    }
  /** The actor of the module is up. */
  | { readonly type: 'ready'; readonly main: OwnRef }
  /** The module, or its actor, could not be started. */
  | { readonly type: 'failed'; readonly error: Packed }
  | {
      readonly type: 'call'
      readonly to: number
      readonly id: number
      readonly name: string
      readonly input: Packed
      /** Milliseconds the caller waits. */
      readonly timeout: number
    }
  | {
      readonly type: 'cast'
      readonly to: number
      readonly name: string
      readonly input: Packed
    }
  | { readonly type: 'send'; readonly to: number; readonly message: Packed }
  /** A cast whose input is the socket that comes along. */
  | {
      readonly type: 'give'
      readonly to: number
      readonly name: string
      readonly id: number
      /** The number that the sender gave the socket. */
      readonly as: number
    }
  /** Acknowledges that socket, and those before it. */
  | { readonly type: 'given'; readonly id: number }
  | {
      readonly type: 'reply'
      readonly id: number
      readonly ok: boolean
      readonly value: Packed
    }
  /** An exit signal of a linked process, or of anybody. */
  | {
      readonly type: 'exit'
      readonly to: number
      readonly from: Packed
      readonly request: Packed
    }
  /** A request to end after the messages before this one; one of its parent is an exit signal. */
  | {
      readonly type: 'stop'
      readonly to: number
      readonly reason: Packed
      readonly byParent: boolean
      /** The parent is a supervisor, which sets the time it may take. */
      readonly limited: boolean
    }
  /** A process that the other side knows has ended. */
  | { readonly type: 'down'; readonly of: number; readonly reason: Packed }
  /** Acknowledges so many messages to mailboxes. */
  | { readonly type: 'taken'; readonly count: number }
  | { readonly type: 'ping' }
  /** The loop turns; `memory` in bytes. */
  | { readonly type: 'pong'; readonly memory: number }
  /** For viewers of the process trees. */
  | { readonly type: 'look'; readonly question: Question }
  | { readonly type: 'seen'; readonly report: Report }
  /** Everything has ended, and what was owned is released. */
  | { readonly type: 'over' }

/** `Socket` of `node:net`. */
export type Socket = Extract<SendHandle, Duplex>

/** The way to the other side. */
export interface Wire {
  /** Throws DataCloneError, of Node, for what cannot be cloned. */
  post(message: BorderMessage): void
  /** The message as it would arrive, to be posted later. Throws as `post`. */
  copy(message: BorderMessage): BorderMessage
  /** Posts a message with a socket, to a process; answers whether it was taken. */
  give?(message: BorderMessage & { readonly type: 'give' }, socket: Socket): boolean
}

/** As threads are sent it. */
export function copyAsThread(message: BorderMessage): BorderMessage {
  return structuredClone(message)
}

/** As processes are sent it (`serialization: 'advanced'`). */
export function copyAsProcess(message: BorderMessage): BorderMessage {
  return deserialize(serialize(message)) as BorderMessage
}

/** Whether a message may be of ours: the code of a peer can send others. */
export function isOurs(message: unknown): message is BorderMessage {
  return typeof message === 'object' && message !== null && 'type' in message
}
