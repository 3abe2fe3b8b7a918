import * as assert from 'uvu/assert'
import { memory } from 'caduceus/transports'
import { defineServer, startServer } from 'caduceus/server'
import { suite } from '../support/suite.js'

const test = suite('what is closed when a server has ended', { timeout: 20_000 })
const definition = defineServer({ name: 'closing', version: '1.0.0', tools: [] })
const start = () => startServer(definition, { transport: memory().serve, logger: false })

test('stop() waits for what listeners of onExit return, also when it is called again', async () => {
  const server = await start()
  const told: string[] = []
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  server.onExit(async ({ type }) => {
    told.push(type)
    await promise
    told.push('closed')
  })
  const stopped = Promise.all([server.stop(), server.stop()]).then(() => told.push('stopped'))
  while (told.length === 0) await new Promise((next) => setImmediate(next))
  const again = server.stop().then(() => told.push('stopped again'))
  resolve()
  await Promise.all([stopped, again])
  assert.is(told.slice(0, 2).join(), 'shutdown,closed')
  assert.is(told.length, 4)
})

test('a listener that cannot close holds nobody up, and is reported', async (t) => {
  const server = await start()
  t.expectStray(1)
  server.onExit(async () => {
    throw new Error('the file is gone')
  })
  await server.stop()
})

test('a listener that is no function is refused', async () => {
  const server = await start()
  assert.throws(() => server.onExit('close' as never), /onExit/)
  await server.stop()
})

test.run()
