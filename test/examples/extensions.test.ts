// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of server/extensions.md', { timeout: 20_000 })

const programs = {
  own: [
    "{ languages: [ 'en', 'nl' ] }",
    "{ found: [ 'Moby-Dick' ] }",
    'search/find belongs to the extension com.example/search, which the client has not declared',
  ],
  app: [
    'ui://clock/page.html text/html;profile=mcp-app {"ui":{"csp":{"connectDomains":[]},"prefersBorder":true}}',
    'shows pages: true',
    "{ time: '09:00:00' }",
  ],
  skills: [
    'skill://git-workflow/SKILL.md How this team writes branches and commits. Use it before a commit. fine',
    'Write commits as references/COMMITS.md says.',
    'One change, one commit.',
    'skill "skill://git-workflow/SKILL.md": "secrets.md": it is not among the files of the skill: has the skill changed?',
    'git-workflow text/markdown',
    'references inode/directory',
  ],
}

for (const [name, lines] of Object.entries(programs)) {
  test(`${name} says what the page promises, and ends by itself`, async (t) => {
    const program = inRoot('.t', 'test', 'examples', 'extensions', `${name}.js`)
    assert.equal(await runNode([program], root, t.signal), { code: 0, output: `${lines.join('\n')}\n` })
  })
}

test.run()
