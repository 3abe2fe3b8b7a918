// The rules that need no parser: names of files and folders, words, paths of a machine.
import { posix } from 'node:path'
import { isLibrary } from './sources.mjs'

const junkNames = /^_?(?:utils?|helpers?|common|core|constants?|misc)$/
const kebab = /^_?[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*$/
const machinePath =
  /(?:file:\/\/|(?<![\w./:\\-]))\/(?:root\/|work\/|(?:Users|home)\/(?!you\b|user\b|me\b)\w)|[A-Z]:\\\\?Users\\/
const twoDocstrings = /\*\/\s*\n\s*\/\*\*/g
const words = [
  [/\b(?:TO(?:DO)|FIX(?:ME))\b/, 'is no note for later: open an issue'],
  [/@ts-(?:ignore|nocheck)/, 'hides an error'],
]

/** Checks one text file; returns `{ line, text }` findings. */
export function checkText(path, text) {
  const lines = text.split('\n')
  const findings = []
  const add = (line, message) => findings.push({ line, text: message })
  lines.forEach((line, index) => {
    const found = machinePath.exec(line)
    if (found) add(index + 1, `path of one machine: ${found[0]}`)
    if (isSource(path)) checkWords(path, line, (message) => add(index + 1, message))
  })
  if (isSource(path))
    for (const { index } of text.matchAll(twoDocstrings))
      add(text.slice(0, index).split('\n').length, 'docstring of nothing: another one follows it')
  return findings
}

/** Checks the name of a file and of the folders above it. */
export function checkName(path) {
  if (!isSource(path)) return []
  const parts = path.split('/').map((part) => part.replace(/\.(?:ts|mjs)$/, ''))
  const junk = parts.filter((part) => junkNames.test(part))
  const findings = junk.map((part) => ({ line: 1, text: `${part} is no room: name what the file is about` }))
  if (!kebab.test(posix.basename(path))) findings.push({ line: 1, text: 'file names are kebab-case' })
  return findings
}

function checkWords(path, line, add) {
  for (const [word, why] of words) {
    const found = word.exec(line)
    if (found) add(`${found[0]} ${why}`)
  }
  const inLibrary = isLibrary(path)
  if (inLibrary && line.includes('@ts-expect-error')) add('@ts-expect-error belongs to type tests')
}

function isSource(path) {
  return /\.(?:ts|mjs)$/.test(path)
}
