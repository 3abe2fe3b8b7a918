import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('whether trying again can help')

type Verdict = 'yes' | 'no' | 'as its cause'

/** Every code of every floor: whether the same thing may succeed when it is tried again, and why. */
const table: Readonly<Record<string, readonly [Verdict, string]>> = {
  'AskError ASK_REFUSED': ['no', 'the client was asked, and said no'],
  'AskError ASK_TIMEOUT': ['yes', 'a person may answer the next time'],
  'AskError BAD_ANSWER': ['no', 'a client that answers so will answer so'],
  'AskError CLIENT_GONE': ['no', 'nobody waits for this request any more'],
  'AskError MISSING_CAPABILITY': ['no', 'what was not declared is not declared later'],
  'AskError NOT_INITIALIZED': ['no', 'it is the client that has to go on'],
  'AskError TOO_MANY_QUESTIONS': [
    'as its cause',
    'open ones get answered; too many in one round stay too many',
  ],
  'ClientError AUTHORIZATION_FAILED': [
    'as its cause',
    'an outage of the authorization server passes, a refusal does not',
  ],
  'ClientError BAD_ANSWER': ['no', 'the handler is at fault'],
  'ClientError BAD_OPTION': ['no', 'the caller is at fault'],
  'ClientError BAD_OUTPUT': ['no', 'the tool breaks its promise'],
  'ClientError BAD_SKILL': ['no', 'the entry has to be got anew'],
  'ClientError CANCELLED': ['no', 'whoever asked gave it up'],
  'ClientError CLOSED': ['no', 'a closed client stays closed'],
  'ClientError CONNECTION_LOST': [
    'as its cause',
    'the next connection may do; after a fatal end there is none',
  ],
  'ClientError CONNECT_FAILED': ['as its cause', 'an outage passes, a refusal does not'],
  'ClientError GAVE_UP': ['no', 'nobody will bring it back'],
  'ClientError INVALID_RESPONSE': ['no', 'a server that answers so will answer so'],
  'ClientError LEASE_EXPIRED': ['no', 'a lease that has ended stays so'],
  'ClientError NOT_FOUND': ['as its cause', 'a client that is not shared; one that may be registered yet'],
  'ClientError NOT_READY': ['yes', 'it may be ready later'],
  'ClientError NOT_SUPPORTED': ['no', 'the server does not offer it'],
  'ClientError NO_COMMON_REVISION': ['no', 'neither side learns a revision'],
  'ClientError QUEUE_FULL': ['yes', 'the queue empties'],
  'ClientError REQUEST_FAILED': ['as its cause', 'the transport knows'],
  'ClientError SESSION_NOT_FOUND': ['as its cause', 'the next session may know it'],
  'ClientError SIGN_IN_NEEDED': ['no', 'somebody has to sign in first'],
  'ClientError TASK_CANCELLED': ['no', 'somebody did not want it'],
  'ClientError TASK_LOST': ['as its cause', 'a call may be made again; an id stays unknown'],
  'ClientError TIMEOUT': [
    'as its cause',
    'a call may be faster next time; a handler that is too slow has had its time',
  ],
  'ClientError TOO_MANY_PAGES': ['no', 'the list is no shorter next time'],
  'ClientError TOO_MANY_ROUNDS': ['no', 'the server asks for ever'],
  'ClientError UNANSWERED': ['no', 'the handlers refuse'],
  'ProtocolError BAD_EVENT': ['no', 'the input is at fault'],
  'ProtocolError BAD_FRONT_MATTER': ['no', 'the input is at fault'],
  'ProtocolError BAD_PARAMS': ['no', 'the input is at fault'],
  'ProtocolError BAD_RESULT': ['no', 'the input is at fault'],
  'ProtocolError BAD_SCHEMA': ['no', 'the input is at fault'],
  'ProtocolError BAD_TEMPLATE': ['no', 'the input is at fault'],
  'ProtocolError EVENT_TOO_LONG': ['no', 'the input is at fault'],
  'ProtocolError INVALID_MESSAGE': ['no', 'the input is at fault'],
  'ProtocolError INVALID_UTF8': ['no', 'the input is at fault'],
  'ProtocolError LINE_TOO_LONG': ['no', 'the input is at fault'],
  'ProtocolError NOT_IN_REVISION': ['no', 'the input is at fault'],
  'ProtocolError NOT_SERIALISABLE': ['no', 'the input is at fault'],
  'ProtocolError NO_COMMON_REVISION': ['no', 'the input is at fault'],
  'ProtocolError PARSE_FAILED': ['no', 'the input is at fault'],
  'ProtocolError TOO_DEEP': ['no', 'the input is at fault'],
  'ProtocolError TOO_MANY_VALUES': ['no', 'the input is at fault'],
  'RuntimeError ACTOR_DEAD': ['no', 'that incarnation has ended'],
  'RuntimeError ALREADY_PRESENT': ['no', 'another call is needed'],
  'RuntimeError ALREADY_STARTED': ['no', 'it is there'],
  'RuntimeError BAD_BEHAVIOUR': ['no', 'the caller is at fault'],
  'RuntimeError BAD_MESSAGE': ['no', 'the caller is at fault'],
  'RuntimeError BAD_OPTION': ['no', 'the caller is at fault'],
  'RuntimeError BAD_RETURN': ['no', 'the start function is at fault'],
  'RuntimeError BAD_SPEC': ['no', 'the caller is at fault'],
  'RuntimeError CALLING_SELF': ['no', 'the caller is at fault'],
  'RuntimeError DUPLICATE_ID': ['no', 'the caller is at fault'],
  'RuntimeError EXITED': ['as its cause', 'a supervised one comes back'],
  'RuntimeError GAVE_UP': ['no', 'nobody will bring it back'],
  'RuntimeError IGNORED': ['no', 'it declined'],
  'RuntimeError MAILBOX_FULL': ['yes', 'the mailbox empties'],
  'RuntimeError MAX_CHILDREN': ['yes', 'children end'],
  'RuntimeError NOCONNECTION': ['yes', 'a supervised peer comes back'],
  'RuntimeError NOPROC': ['as its cause', 'a name between two incarnations comes back; a wrong one does not'],
  'RuntimeError NOT_CLONEABLE': ['no', 'what cannot be copied never can be'],
  'RuntimeError NOT_FOUND': ['no', 'there is no such child'],
  'RuntimeError RESTARTING': ['no', 'its supervisor is at it already'],
  'RuntimeError RUNNING': ['no', 'it runs'],
  'RuntimeError START_FAILED': ['no', 'what failed is the cause, which says so itself'],
  'RuntimeError START_TIMEOUT': ['no', 'init hangs, most likely'],
  'RuntimeError TIMEOUT': ['as its cause', 'a busy one may answer later; a test has had its time'],
  'ServerError BAD_DEFINITION': ['no', 'the author is at fault'],
  'ServerError BAD_OPTION': ['no', 'the author is at fault'],
  'ServerError BAD_RESULT': ['no', 'the author is at fault'],
  'ServerError BAD_STATE': ['no', 'the author is at fault'],
  'ServerError NO_SESSION': ['no', 'that revision has none'],
  'ServerError OUTSIDE_ROOTS': ['no', 'the path stays outside'],
  'ServerError TOOL_FAILED': ['as its cause', 'the tool says so'],
  'ServerError WORKER_ENDED': ['as its cause', 'part of the work may be done, unless it was not begun'],
  'TransportError AUTHENTICATE_TIMEOUT': ['yes', 'it may be faster next time'],
  'TransportError AUTHORIZATION_UNAVAILABLE': [
    'as its cause',
    'an outage passes; an address that must not be asked never may',
  ],
  'TransportError BAD_AUTHORIZATION': ['no', 'the header is at fault'],
  'TransportError BAD_OPTION': ['no', 'the caller is at fault'],
  'TransportError BAD_RESPONSE': [
    'as its cause',
    'a broken line may be whole next time; another protocol stays one',
  ],
  'TransportError BYTES_LIMIT': ['yes', 'what is read and worked on gets done'],
  'TransportError CLIENT_LIMIT': ['yes', 'some of them end'],
  'TransportError CLUSTER_UNAVAILABLE': ['yes', 'the engine comes back'],
  'TransportError COMMAND_NOT_FOUND': ['no', 'nobody installs it meanwhile'],
  'TransportError CONNECTION_LOST': [
    'as its cause',
    'a client connects again; a server cannot call one back',
  ],
  'TransportError CONNECT_FAILED': ['as its cause', 'an outage passes; a broken contract does not'],
  'TransportError EXCHANGE_LIMIT': ['yes', 'some of them end'],
  'TransportError HTTP_STATUS': ['as its cause', '408, 425, 429 and 5xx pass'],
  'TransportError INSUFFICIENT_SCOPE': ['no', 'the token has no more scopes next time'],
  'TransportError LISTEN_FAILED': ['no', 'the place stays taken'],
  'TransportError MESSAGE_TOO_LONG': ['no', 'the same answer is as long again'],
  'TransportError NOT_OPEN': ['as its cause', 'the next connection takes it; a script in a test has none'],
  'TransportError NOT_SHARED': ['no', 'the owner does not share it'],
  'TransportError PROCESS_EXITED': ['yes', 'the next process may do'],
  'TransportError REVISION_MISMATCH': ['no', 'the header is at fault'],
  'TransportError SEND_FAILED': ['as its cause', 'what waits gets sent; what is too long stays so'],
  'TransportError SESSION_LIMIT': ['yes', 'some of them end'],
  'TransportError SESSION_NOT_FOUND': ['as its cause', 'a client begins another; this one stays unknown'],
  'TransportError SPAWN_FAILED': ['as its cause', 'a lack of processes passes; a missing right does not'],
  'TransportError UNAUTHORIZED': ['no', 'who is refused is refused again'],
}

/** Places where an error of a floor is made: `class code`, and what is said of `retryable`. */
function* sites(): Generator<{
  readonly key: string
  readonly said: string | undefined
  readonly at: string
}> {
  for (const floor of ['protocol', 'runtime', 'transports', 'server', 'client'])
    for (const path of readdirSync(inRoot(floor), { recursive: true, encoding: 'utf8' })) {
      if (!path.endsWith('.ts')) continue
      const text = readFileSync(inRoot(floor, path), 'utf8')
      for (const { 0: opening, 1: name, index } of text.matchAll(
        /(?:new (\w+Error)|\bcallError)\(\s*'(?=[A-Z_\d]+')/g,
      )) {
        const rest = argumentsFrom(text, index + opening.length)
        const code = /^[A-Z_\d]+/.exec(rest)?.[0]
        // a call is worth another try unless it says otherwise
        const usual = name === undefined ? 'true' : 'false'
        const [, said] = /\bretryable(?:: (\w+))?/.exec(rest) ?? [undefined, usual]
        // what is handed over as a whole is looked at where it is made
        if (/,\s*(details|\{ \.\.\.)/.test(rest)) continue
        yield { key: `${name ?? 'ClientError'} ${code}`, said, at: join(floor, path) }
      }
    }
}

function argumentsFrom(text: string, start: number): string {
  let depth = 1
  let at = start
  while (depth > 0 && at < text.length) {
    if (text[at] === '(') depth += 1
    else if (text[at] === ')') depth -= 1
    at += 1
  }
  return text.slice(start, at)
}

test('every error code has a row, and every row a code', () => {
  const page = readFileSync(inRoot('protocol', 'errors.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([A-Z_\d]+)` \| \[`(\w+)`\]/gm)]
  assert.ok(rows.length > 80)
  const listed = rows.map(([, code, name]) => `${name} ${code}`)
  assert.equal(listed.sort(), Object.keys(table).sort())
})

test('every error agrees with its row on retryable', () => {
  let looked = 0
  for (const { key, said, at } of sites()) {
    const row = table[key]
    assert.ok(row, `${key} in ${at} has no row`)
    const [verdict, why] = row
    looked += 1
    if (verdict === 'yes') assert.is(said, 'true', `${key} in ${at}: ${why}`)
    if (verdict === 'no') assert.is(said, 'false', `${key} in ${at}: ${why}`)
  }
  assert.ok(looked > 200, String(looked))
})

test.run()
