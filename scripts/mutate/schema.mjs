// All mutants of a file at once, each behind a switch.
import ts from 'typescript5'
import { listMutants } from './operators.mjs'

const isOn = '__mutant'

/**
 * Answers the mutants of a transpiled file, numbered from `first`, and its `code` with all of them in it: at most one is on, as
 * `from` (a module, as the file imports it) says. Lines stay where they are.
 */
export function addSwitches({ path, source, first, from }) {
  const { file, found } = listMutants(path, source)
  const mutants = found.map((mutant, index) => ({ ...mutant, number: first + index }))
  const byNode = Map.groupBy?.(mutants, ({ place }) => place.node) ?? groupByNode(mutants)
  const print = (node) => {
    const parts = []
    let at = node.getStart(file)
    for (const child of childrenOf(node)) {
      parts.push(source.slice(at, child.getStart(file)), print(child))
      at = child.getEnd()
    }
    const text = parts.join('') + source.slice(at, node.getEnd())
    return (byNode.get(node) ?? []).reduce((inner, mutant) => put(node, inner, mutant), text)
  }
  const body = source.slice(0, file.getStart(file)) + print(file)
  // at the end, so that nothing moves: imports come first wherever they stand
  const code = `${body}\nimport { isOn as ${isOn} } from ${JSON.stringify(from)};\n${source.slice(file.endOfFileToken.getFullStart())}`
  const broken = ts.createSourceFile(
    path,
    code,
    ts.ScriptTarget.ES2023,
    false,
    ts.ScriptKind.JS,
  ).parseDiagnostics
  if (broken.length > 0)
    throw new Error(
      `${path}: its mutants do not parse: ${ts.flattenDiagnosticMessageText(broken[0].messageText, ' ')}`,
    )
  return { code, mutants: mutants.map(({ place, ...mutant }) => mutant) }
}

function put(node, inner, { number, place }) {
  if (ts.isBlock(node)) return `{ if (!${isOn}(${number})) ${inner} }`
  const choice = `(${isOn}(${number}) ? (${place.text}) : (${inner}))`
  return ts.isStringLiteral(node) && node.parent.name === node ? `[${choice}]` : choice
}

function childrenOf(node) {
  const children = []
  ts.forEachChild(node, (child) => void children.push(child))
  return children.sort((a, b) => a.pos - b.pos)
}

function groupByNode(mutants) {
  const groups = new Map()
  for (const mutant of mutants) {
    const { node } = mutant.place
    groups.set(node, [...(groups.get(node) ?? []), mutant])
  }
  return groups
}
