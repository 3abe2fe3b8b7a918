import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { lazy, retryLoad } from '../../../runtime/faults/load.js'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'

const test = suite('modules that are loaded when they are needed')
const { signal } = new AbortController()
const shortage = () => Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall: 'open' })

/** Asks for a module whose loads fail with these errors, one after the other, until there are no more. */
async function load(errors: readonly Error[]) {
  const clock = createFakeClock()
  const left = [...errors]
  const loads: number[] = []
  let outcome: unknown
  const loading = async () => {
    loads.push(clock.now())
    const error = left.shift()
    if (error !== undefined) throw error
    return 'loaded'
  }
  const settled = retryLoad(loading, { clock, signal }).then(
    (module) => {
      outcome = module
    },
    (error: unknown) => {
      outcome = error
    },
  )
  for (let i = 0; i < 10 && outcome === undefined; i++) await clock.advance(250)
  await settled
  return { outcome, loads, pending: clock.pending }
}

test('an import waits for file descriptors', async () => {
  const unread = Object.assign(new Error('Invalid package config'), { code: 'ERR_INVALID_PACKAGE_CONFIG' })
  assert.equal(await load([shortage(), unread, shortage()]), {
    outcome: 'loaded',
    loads: [0, 250, 500, 750],
    pending: 0,
  })
})

test('a failed lazy import is retried at the next use, and a loaded one is kept', async () => {
  let imports = 0
  const module = lazy('no-such-package', async () => {
    imports += 1
    if (imports === 1) throw shortage()
    return { name: 'a module' }
  })
  assert.is(await module().catch(({ code }) => code), 'EMFILE')
  assert.equal(await module(), { name: 'a module' })
  assert.equal(await module(), { name: 'a module' })
  assert.is(imports, 2)
})

test('a missing or broken module fails its import at once', async () => {
  for (const error of [
    Object.assign(new Error('Cannot find module'), { code: 'ERR_MODULE_NOT_FOUND' }),
    new SyntaxError('Unexpected token'),
  ])
    assert.equal(await load([error]), { outcome: error, loads: [0], pending: 0 })
})

test('a cached import error is not retried', async () => {
  const kept = shortage()
  assert.equal(await load([kept, kept]), { outcome: kept, loads: [0, 250], pending: 0 })
})

test('a lazy module names the same file for require and for import', () => {
  let found = 0
  for (const floor of ['transports', 'server', 'client'])
    for (const name of readdirSync(inRoot(floor), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue
      const path = inRoot(floor, name)
      const loads = readFileSync(path, 'utf8').matchAll(
        /\blazy\(\s*'(\.[^']*)',\s*\(\) => import\('(\.[^']*)'\)/g,
      )
      for (const [, named = '', imported = ''] of loads) {
        found += 1
        assert.is(join(inRoot('runtime', 'faults'), named), join(dirname(path), imported), path)
      }
    }
  assert.ok(found >= 8, `${found} found`)
})

test.run()
