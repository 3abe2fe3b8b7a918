import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('READMEs')

const floors = ['runtime', 'protocol', 'transports', 'server', 'client']
const inFloors = floors.flatMap((floor) =>
  (readdirSync(inRoot(floor), { recursive: true }) as string[])
    .filter((path) => path.endsWith('.md'))
    .map((path) => posix.join(floor, path.replaceAll('\\', '/'))),
)
const papers = ['README.md', 'CHANGELOG.md', '.github/CONTRIBUTING.md', '.github/SECURITY.md']
const pages = [...papers, ...inFloors.sort()]
const rooms = inFloors.filter((page) => page.split('/').length > 2)
/** Programs make a page of the guide longer. */
const most = (page: string): number => (page.includes('/guide/') ? 900 : 700)

const quoted = /<!-- (test\/examples\/[\w./-]+\.(?:ts|mjs)) -->\n```(?:ts|js)\n([\s\S]*?)```/g

test('README programs are quoted as tested', () => {
  const counts = pages.map((page) => {
    const programs = [...read(page).matchAll(quoted)]
    for (const [, path = '', program] of programs) assert.is(program, read(path), `${page}: ${path}`)
    return programs.length
  })
  const all = counts.reduce((sum, count) => sum + count, 0)
  assert.ok(all >= 12, `${all} programs are quoted`)
})

test('links lead to existing files and headings', () => {
  const lost = pages.flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([link, path = '', heading]) => {
        const target = path === '' ? page : posix.join(posix.dirname(page), path)
        if (!existsSync(inRoot(target))) return [`${page}: ${link}`]
        return heading === undefined || headingsOf(target).includes(heading) ? [] : [`${page}: ${link}`]
      },
    ),
  )
  assert.equal(lost, [])
})

test('the page of a room is short and linked from the page of its floor', () => {
  for (const page of rooms) {
    const [floor = '', ...rest] = page.split('/')
    assert.ok(read(posix.join(floor, 'README.md')).includes(`](${rest.join('/')}`), `${floor}: ${page}`)
    const words = read(page).split(/\s+/).length
    assert.ok(words <= most(page), `${page} has ${words} words`)
  }
})

test.run()

function read(page: string): string {
  return readFileSync(inRoot(page), 'utf8')
}

/** The anchors of a page's headings, as GitHub makes them. */
function headingsOf(page: string): string[] {
  return [...withoutCode(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '')
}
