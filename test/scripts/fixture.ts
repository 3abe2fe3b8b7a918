import { makeProject, type Outcome, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import type { TestContext } from '../support/suite.js'

/** The text of a test file around the given statements; `top` is its first line. */
export function file(body: string, top = ''): string {
  return `${top}
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { suite } from '../support/suite.js'
const test = suite('fixture')
${body}
test.run()
`
}

/** Runs the test runner on a project made of these files. */
export async function runTests(
  t: TestContext,
  files: Record<string, string>,
  ...args: string[]
): Promise<Outcome> {
  const project = makeProject(t, files)
  return runNode([inRoot('scripts', 'test.mjs'), '--root', project, ...args], project, t.signal)
}

/** The sum a run ends with. */
export function lastLine({ output }: Outcome): string | undefined {
  return output.trimEnd().split('\n').at(-1)
}
