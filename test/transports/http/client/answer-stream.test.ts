import { createFakeClock } from 'caduceus/runtime'
import type { LinkScope } from 'caduceus/transports'
import { PassThrough, Readable } from 'node:stream'
import * as assert from 'uvu/assert'
import { worldOn } from '../../../support/world.js'
import { AnswerBudget } from '../../../../transports/http/client/answer-budget.js'
import { type AnswerPort, readAnswer, readJson } from '../../../../transports/http/client/answer-stream.js'
import type { HttpResponse } from '../../../../transports/http/outgoing/dispatcher.js'
import { suite } from '../../../support/suite.js'

const test = suite('reading answers')

function scopeOf(clock = createFakeClock()) {
  const scope: LinkScope = {
    signal: new AbortController().signal,
    clock,
    world: worldOn(clock),
    own: (resource) => resource,
    bind: (fn) => fn,
  }
  return { clock, scope }
}

function responseOf(body: Readable, type: string): HttpResponse {
  const headers = { 'content-type': type }
  return {
    status: 200,
    headers,
    body,
    complete: false,
    secrets: [],
    origin: 'http://x',
    text: async () => '',
  }
}

const nobody: AnswerPort = {
  resume: () => Promise.reject(new Error('not asked for')),
  absence: () => new AbortController().signal,
  refused: async () => false,
  message: () => {},
  skipped: () => {},
  room: () => undefined,
  budget: new AnswerBudget({ messageBytes: 1_000, pendingBytes: 1_000 }),
}

test('an ended stream leaves no timer, answered or not', async () => {
  const { clock, scope } = scopeOf()
  const request = {
    id: 1,
    controller: new AbortController(),
    resumable: false,
    maxBytes: 1_000,
    idleTimeout: 1_000,
  }
  const events = 'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'
  await readAnswer(
    responseOf(Readable.from([Buffer.from(events)]), 'text/event-stream'),
    request,
    nobody,
    scope,
  )
  assert.is(clock.pending, 0)
  await readAnswer(
    responseOf(Readable.from([Buffer.from(': \n\n')]), 'text/event-stream'),
    request,
    nobody,
    scope,
  )
  assert.is(clock.pending, 0)
  assert.is(request.controller.signal.aborted, false)
})

test('a JSON answer that stalls after its start counts as broken', async () => {
  const { clock, scope } = scopeOf()
  const limits = { limits: { messageBytes: 1_000 }, idleTimeout: 1_000 }
  const reading = readJson(responseOf(new PassThrough(), 'application/json'), limits, {
    scope,
    budget: nobody.budget,
    turn: async () => {},
  })
  const failed = reading.then(
    () => undefined,
    (error: Error) => error.message,
  )
  await clock.advance(1_000)
  assert.is(await failed, 'nothing came for 1000 ms')
  assert.is(clock.pending, 0)
})

test.run()
