import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { repository } from '../house/sources.mjs'
import { everyPage } from './contents.mjs'

const all = ['README.md', ...everyPage]

/**
 * Writes all pages into a folder, each at its place in the site, with what they show and link to; answers what is
 * wrong with their links.
 */
export function writePages(folder) {
  const troubles = []
  const place = (text, path, to) => {
    const linked = linksOf(text, (target) => {
      const link = linkFrom(path, target, folder)
      if (link === undefined) troubles.push(`${path}: ${target} is not there`)
      return link ?? target
    })
    write(join(folder, to), linked)
  }
  for (const path of all) place(read(path), path, placeOf(path))
  place(homePage(), 'README.md', 'index.md')
  return troubles
}

/** What the home page shows of the first page is written there. */
function homePage() {
  const sections = read('README.md').split(/^(?=## )/m)
  return read('scripts/docs/home.md').replaceAll(/<!-- README: (.+) -->/g, (_, title) => {
    const section = sections.find((text) => text.startsWith(`## ${title}\n`))
    if (section === undefined) throw new Error(`scripts/docs/home.md: README.md has no part ${title}`)
    return section
  })
}

/** Where a page of the repository is in the site: the page of a folder is its index. */
export function placeOf(path) {
  if (path === 'README.md') return 'overview.md'
  const place = path.replace(/(^|\/)README\.md$/, '$1index.md')
  return place.replace(/^\.github\//, '').replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase())
}

/** A page's heading; the page of a room has the name of the room. */
export function titleOf(path) {
  if (/^\w+\/(?!guide\/).+\/README\.md$/.test(path)) return dirname(path)
  return /^# (.+)$/m.exec(read(path))?.[1]?.replaceAll('`', '') ?? path
}

/** A link of one page as a link of the site; undefined if nothing is there. Other files come along. */
function linkFrom(page, target, folder) {
  if (/^(?:[a-z]+:|#)/.test(target)) return target
  const [to, anchor] = target.split('#')
  const path = posix.join(posix.dirname(page), decodeURIComponent(to))
  const file = existsSync(join(repository, path, 'README.md')) ? posix.join(path, 'README.md') : path
  if (!existsSync(join(repository, file)) || statSync(join(repository, file)).isDirectory()) return undefined
  const here = posix.dirname(placeOf(page))
  const place = all.includes(file) ? placeOf(file) : comeAlong(file, folder, here)
  const link = place.startsWith('/') ? place : posix.relative(here, place)
  return `${link.startsWith('.') || link.startsWith('/') ? '' : './'}${link}${anchor === undefined ? '' : `#${anchor}`}`
}

/** Pictures are beside their page, where they are found by name; other files are shown as they are, as text. */
function comeAlong(file, folder, here) {
  const picture = /\.(?:svg|png)$/.test(file)
  const place = picture
    ? posix.join(here, posix.basename(file))
    : posix.join('public', 'files', `${file}.txt`)
  mkdirSync(dirname(join(folder, place)), { recursive: true })
  cpSync(join(repository, file), join(folder, place))
  return picture ? place : `/files/${file}.txt`
}

/** Markdown with each target of a link outside of code as `change` says. */
function linksOf(text, change) {
  let code = false
  return text
    .split('\n')
    .map((line) => {
      if (/^\s*```/.test(line)) code = !code
      if (code) return line
      return line
        .split(/(`[^`]*`)/)
        .map((part) =>
          part.startsWith('`')
            ? part
            : part.replace(/(\]\()([^)\s]+)(?=\))/g, (_, open, target) => open + change(target)),
        )
        .join('')
    })
    .join('\n')
}

export function read(path) {
  return readFileSync(join(repository, path), 'utf8')
}

export function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
