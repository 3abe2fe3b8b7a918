import { systemClock, systemWorld } from 'caduceus/runtime'
import type { LinkScope } from 'caduceus/transports'
import { PassThrough } from 'node:stream'
import * as assert from 'uvu/assert'
import { bindStdioPipes } from '../../../transports/stdio/pipes.js'
import { suite } from '../../support/suite.js'

const test = suite('stdio server pipes')
const mebibyte = 'x'.repeat(1024 * 1024)

test('lines of one turn are written at once, complete and in order', async () => {
  const { pipes, written } = await bind()
  for (const n of [1, 2, 3]) pipes.send(line(n))
  assert.equal(written(), [])
  await turn()
  assert.equal(written(), [[1, 2, 3]])
  pipes.send(line(4))
  await turn()
  assert.equal(written(), [[1, 2, 3], [4]])
})

test('closing writes the lines of this turn, and later lines without delay', async () => {
  const { pipes, written, end } = await bind()
  pipes.send(line(1))
  end()
  assert.equal(written(), [[1]])
  pipes.send(line(2))
  assert.equal(written(), [[1], [2]])
  await turn()
  assert.equal(written(), [[1], [2]])
})

test('unwritten lines count towards the stall timeout', async () => {
  const { pipes } = await bind()
  pipes.send(line(1))
  assert.is(pipes.isStalled, false)
  pipes.send(line(2, mebibyte))
  assert.is(pipes.isStalled, true)
  await turn()
})

test('an input paused for unwritten lines resumes after them', async () => {
  const { pipes, input, end } = await bind(8 * 1024 * 1024)
  pipes.send(line(1, mebibyte))
  pipes.pause()
  pipes.resume()
  assert.is(input.isPaused(), true)
  await turn()
  assert.is(input.isPaused(), false)
  end()
})

test('nothing is written to an output destroyed in the same turn', async () => {
  const { pipes, output, written } = await bind()
  pipes.send(line(1))
  output.destroy()
  await turn()
  assert.equal(written(), [])
})

function line(n: number, filler = '') {
  return JSON.stringify({ params: { n, filler } })
}

/** The end of the turn that runs. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function bind(highWaterMark = 16 * 1024) {
  const input = new PassThrough()
  const output = new PassThrough({ highWaterMark })
  const chunks: string[] = []
  const write = output.write.bind(output)
  output.write = (chunk: string) => {
    chunks.push(chunk)
    return write(chunk)
  }
  output.resume()
  const undos: (() => unknown)[] = []
  const scope: LinkScope = {
    signal: new AbortController().signal,
    clock: systemClock,
    world: systemWorld,
    own(resource) {
      undos.unshift(resource as () => unknown)
      return resource
    },
    bind: (fn) => fn,
  }
  const messageBytes = 4 * 1024 * 1024
  const limits = { messageBytes, pendingBytes: 2 * messageBytes }
  const times = { endTimeout: 100, exit: false }
  const settings = { input, output, limits, ...times }
  const pipes = await bindStdioPipes(settings, scope)
  const written = (): number[][] =>
    chunks.map((chunk) =>
      chunk
        .trimEnd()
        .split('\n')
        .map((text) => JSON.parse(text).params.n),
    )
  return { pipes, input, output, written, end: () => undos.forEach((undo) => void undo()) }
}

test.run()
