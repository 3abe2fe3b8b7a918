// second tier: time
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../../support/suite.js'
import { makeFolder } from '../../support/folder.js'
import { at, ModernClient } from './_tasks.js'

const test = suite('tasks of a program that is killed', { timeout: 30_000 })
const program = fileURLToPath(new URL('./_killed-program.js', import.meta.url))

/** Starts the program on the folder; resolves when it serves. */
async function startProgram(t: TestContext, ...args: readonly string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, exited, client: new ModernClient(t, String(line).trim()) }
}

async function kill({ child, exited }: { child: ChildProcess; exited: Promise<unknown[]> }): Promise<void> {
  child.kill('SIGKILL')
  assert.is((await exited)[1], 'SIGKILL')
}

function linesOf(folder: string): string[] {
  return readFileSync(join(folder, 'log.txt'), 'utf8').trim().split('\n')
}

test('with a file store tasks continue in the next program, finished steps once', async (t) => {
  const folder = makeFolder(t)
  const first = await startProgram(t, folder, 'tasks')
  const names = ['a', 'b', 'c', 'd', 'e']
  const ids = await Promise.all(names.map((id) => first.client.start('works', { id })))
  for (const id of ids) await first.client.until(id, 'input_required')
  await kill(first)

  const second = await startProgram(t, folder, 'tasks')
  for (const id of ids) {
    const { result } = await second.client.get(id)
    // the question is still there, also before the handler asks it again
    assert.is(result?.status, 'input_required')
    assert.equal(Object.keys(at<object>(result, 'inputRequests')), ['name'])
    const answer = { name: { action: 'accept', content: { name: 'Ada' } } }
    await second.client.ask('tasks/update', { taskId: id, inputResponses: answer })
  }
  for (const [index, id] of ids.entries()) {
    const done = await second.client.until(id, 'completed')
    const [block] = at<{ text: string }[]>(done, 'result', 'content')
    assert.is(block?.text, `${names[index]} of Ada`)
  }
  const lines = linesOf(folder)
  for (const id of names) {
    assert.is(lines.filter((line) => line === `first ${id}`).length, 1)
    assert.is(lines.filter((line) => line === `second ${id}`).length, 1)
    assert.is(lines.filter((line) => line === `run ${id}`).length, 2)
  }
  await kill(second)

  const third = await startProgram(t, folder, 'tasks')
  for (const id of ids) assert.is((await third.client.get(id)).result?.status, 'completed')
})

test('a program killed during steps, again and again, runs each finished step once', async (t) => {
  const folder = makeFolder(t)
  let running = await startProgram(t, folder, 'tasks')
  const id = await running.client.start('steps')
  writeFileSync(join(folder, 'go'), '')
  for (let restarts = 0; restarts < 3; restarts += 1) {
    await running.exited
    running = await startProgram(t, folder, 'tasks')
  }
  const done = await running.client.until(id, 'completed')
  assert.is(at(done, 'result', 'isError'), undefined)
  assert.equal(
    linesOf(folder),
    Array.from({ length: 30 }, (_, step) => `step ${step}`),
  )
})

test('a task that must not rerun fails with the reason', async (t) => {
  const folder = makeFolder(t)
  const first = await startProgram(t, folder, 'tasks')
  const id = await first.client.start('careful')
  const other = await first.client.start('endless')
  await kill(first)
  const second = await startProgram(t, folder, 'tasks')
  const failed = await second.client.until(id, 'failed')
  assert.match(String(failed.statusMessage), /not to run twice/)
  assert.is((await second.client.get(other)).result?.status, 'working')
})

test('a task that kills its program is given up after three starts', async (t) => {
  const folder = makeFolder(t)
  let running = await startProgram(t, folder, 'tasks')
  const id = await running.client.start('deadly')
  writeFileSync(join(folder, 'go'), '')
  for (let restarts = 0; restarts < 3; restarts += 1) {
    await running.exited
    running = await startProgram(t, folder, 'tasks')
  }
  const killed = running.exited.then(() =>
    assert.unreachable('it has begun, and killed its program, a fourth time'),
  )
  const failed = await Promise.race([killed, running.client.until(id, 'failed')])
  assert.match(String(failed?.statusMessage), /3 times/)
  assert.is(linesOf(folder).length, 3)
})

test('memory tasks are unknown after a restart', async (t) => {
  const folder = makeFolder(t)
  const first = await startProgram(t, folder)
  const id = await first.client.start('endless')
  await kill(first)
  const second = await startProgram(t, folder)
  assert.is((await second.client.get(id)).error?.code, -32602)
})

test.run()
