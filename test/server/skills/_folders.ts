import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from '../../support/suite.js'

/** The text of a `SKILL.md`. */
export function skillText(name: string, body = 'Do it well.', more = ''): string {
  return `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n\n${body}\n`
}

/** A folder with these files, which goes with the test. */
export function folderOf(
  t: Pick<TestContext, 'after'>,
  files: Readonly<Record<string, string | Uint8Array>>,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-skills-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

/** Two skills, one below a prefix, with a file that is no text. */
export const twoSkills: Readonly<Record<string, string | Uint8Array>> = Object.freeze({
  'git-workflow/SKILL.md': skillText('git-workflow', 'See references/COMMITS.md.', 'license: MIT\n'),
  'git-workflow/references/COMMITS.md': '# Commits\n',
  'git-workflow/assets/logo.png': Buffer.from([0x89, 0x50, 0xff, 0x00]),
  'git-workflow/.hidden': 'not served',
  'acme/billing/refunds/SKILL.md': skillText('refunds'),
  'README.md': 'no skill',
})
