import { getEventListeners, setMaxListeners } from 'node:events'
import * as assert from 'uvu/assert'
import { NotificationTarget } from 'caduceus/client'
import { scriptedServer, until } from 'caduceus/testing'
import { suite } from '../../support/suite.js'
import { watch } from '../_raw.js'

const test = suite('client: notifications as events')
const type = 'notifications/tools/list_changed'

/** Whoever tells of notifications, and who hears of them now. */
function source() {
  const heard = new Map<string, Set<(params: object) => void>>()
  return {
    heard,
    tell: (method: string, params: object) => {
      for (const fn of [...(heard.get(method) ?? [])]) fn(params)
    },
    onNotification(method: string, fn: (params: never) => void) {
      const all = heard.get(method) ?? new Set()
      heard.set(method, all)
      all.add(fn as (params: object) => void)
      return () => {
        all.delete(fn as (params: object) => void)
        if (all.size === 0) heard.delete(method)
      }
    },
  }
}

test('the client is subscribed to as long as a listener is left', () => {
  const one = source()
  const target = new NotificationTarget(one)
  const events: unknown[] = []
  const take = (event: Event): void => void events.push((event as CustomEvent).detail)
  const other = (): void => {}
  target.addEventListener(type, take)
  target.addEventListener(type, take)
  target.addEventListener(type, other)
  assert.is(one.heard.get(type)?.size, 1)
  one.tell(type, { n: 1 })
  target.removeEventListener(type, take)
  assert.is(one.heard.size, 1, 'another one still listens')
  target.removeEventListener(type, other)
  assert.is(one.heard.size, 0)
  target.addEventListener(type, take, { once: true })
  one.tell(type, { n: 2 })
  assert.equal([one.heard.size, events], [0, [{ n: 1 }, { n: 2 }]])
  const aborter = new AbortController()
  target.addEventListener(type, take, { signal: aborter.signal })
  assert.is(one.heard.size, 1)
  aborter.abort()
  assert.is(one.heard.size, 0)
  target.addEventListener(type, take, { signal: aborter.signal })
  assert.is(one.heard.size, 0, 'nobody was added')
  target.addEventListener(type, take)
  target[Symbol.dispose]()
  assert.is(one.heard.size, 0)
})

test('a signal with many short-lived listeners holds no more of them than AbortSignal', () => {
  const one = source()
  const target = new NotificationTarget(one)
  const { signal } = new AbortController()
  const plain = new EventTarget()
  const { signal: other } = new AbortController()
  setMaxListeners(0, signal, other)
  for (let i = 0; i < 20; i++) {
    const listener = (): void => {}
    target.addEventListener(type, listener, { signal })
    target.removeEventListener(type, listener)
    plain.addEventListener(type, listener, { signal: other })
    plain.removeEventListener(type, listener)
  }
  assert.is(getEventListeners(signal, 'abort').length, getEventListeners(other, 'abort').length)
  assert.is(one.heard.size, 0)
})

test('notification handlers run in order, and a throw or removal stops no other', async (t) => {
  const server = scriptedServer({ 'tools/list': () => ({ tools: [] }) })
  t.expectStray(1)
  const errors: string[] = []
  const error = (facts: object): void => void errors.push(String((facts as { err?: unknown }).err))
  const logger = { debug() {}, info() {}, warn() {}, error }
  const { client } = watch(t, { transport: server.transport, logger })
  await client.ready()
  const told: string[] = []
  let last = (): void => {}
  const done = new Promise<void>((resolve) => {
    last = resolve
  })
  client.onNotification('custom/news', () => told.push('first'))
  client.onNotification('custom/news', () => {
    told.push('second')
    throw new Error('the second one throws')
  })
  const undo = client.onNotification('custom/news', () => told.push('undone'))
  client.onNotification('custom/news', () => {
    told.push('third')
    void Promise.reject(new Error('the third one rejects'))
  })
  client.onNotification('custom/news', () => {
    told.push('last')
    last()
  })
  undo()
  undo()
  await server.notify('custom/news', {})
  await done
  assert.equal(told, ['first', 'second', 'third', 'last'])
  assert.is(client.state.phase, 'ready')
  await until(() => errors.length === 2)
  assert.equal(errors, ['Error: the second one throws', 'Error: the third one rejects'])
})

test.run()
