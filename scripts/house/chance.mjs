// Time, turns and chance come from a World: finds every other source of them in a file of the library.
import ts from 'typescript5'
import { exceptions } from './chance-exceptions.mjs'

/**
 * Looks through a file that `readSyntax` has parsed; returns `{ line, text }` findings. What a file on the list of
 * exceptions may use is none, and neither are comments, texts, types, local names and members such as
 * `clock.setTimeout`. An exception that the file does not need is one.
 */
export function checkChance(path, file, excepted = exceptions) {
  const found = []
  const state = { file, parents: [], scopes: [], found }
  visit(state, file)
  const { sources: allowed = [] } = excepted.find(({ at }) => covers(at, path)) ?? {}
  if (allowed === 'all') return []
  const findings = found
    .filter(({ source }) => !allowed.includes(source))
    .map(({ line, source }) => ({ line, text: `${source}: ${advice(source)}` }))
  for (const source of allowed)
    if (!found.some((one) => one.source === source))
      findings.push({ line: 1, text: `${source}: allowed in scripts/house/chance-exceptions.mjs, not used` })
  return findings
}

function covers(at, path) {
  return at.endsWith('/') ? path.startsWith(at) : at === path
}

function advice(source) {
  if (defaults.has(source))
    return 'only as a default (`= systemWorld`, `?? systemWorld`); take the world of the tree'
  if (collected.has(source)) return 'runs when memory is collected, which no seed repeats; end it yourself'
  return 'time, turns and chance come from a World (runtime/time/world.ts)'
}

/** What runs by the will of the garbage collector. */
const collected = new Set(['WeakRef', 'FinalizationRegistry'])
/** The worlds of this machine: who uses one has none of a tree. */
const defaults = new Set(['systemWorld', 'systemClock'])

const never = () => false
const membersBut =
  (...names) =>
  ({ type, name }) =>
    type === 'member' && !names.includes(name)
const onlyMembers =
  (...names) =>
  ({ type, name }) =>
    type === 'member' && names.includes(name)
const ofProcess = ['nextTick', 'hrtime', 'uptime']

/** Names of Node's globals, each with the uses that are no source. */
const globals = new Map([
  ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'].map(
    never_,
  ),
  ...['queueMicrotask', 'performance', 'scheduler', ...collected].map(never_),
  [
    'Date',
    ({ type, name, count }) =>
      (type === 'member' && ['parse', 'UTC'].includes(name)) ||
      (type === 'new' && count > 0) ||
      type === 'instanceof',
  ],
  ['Math', membersBut('random', undefined)],
  ['AbortSignal', (use) => use.type === 'instanceof' || onlyMembers('any', 'abort')(use)],
  ['crypto', onlyMembers('subtle')],
  ['process', ({ names = [], name }) => ![...names, name].some((one) => ofProcess.includes(one))],
  // a key of our own is a symbol, and no name
  [
    'globalThis',
    ({ type, name, names = [] }) => type !== 'other' && ![name, ...names].some((one) => globals.has(one)),
  ],
])
globals.set('global', globals.get('globalThis'))

function never_(name) {
  return [name, never]
}

/** Modules of Node and packages, each with the names that are no source. */
const modules = new Map([
  ['timers', never],
  ['timers/promises', never],
  ['perf_hooks', never],
  ['nanoid', never],
  [
    'crypto',
    (name) => name !== undefined && !/^(?:random|getRandom|generate|webcrypto$|secureHeap)/.test(name),
  ],
  ['process', (name) => name !== undefined && !ofProcess.includes(name)],
])

function visit(state, node) {
  if (isOfTypes(node)) return
  if (readModule(state, node)) return
  if (ts.isIdentifier(node)) return void readName(state, node)
  const names = namesOf(node)
  if (names !== undefined) state.scopes.push(names)
  state.parents.push(node)
  ts.forEachChild(node, (child) => visit(state, child))
  state.parents.pop()
  if (names !== undefined) state.scopes.pop()
}

/** Types leave no trace at run time. */
function isOfTypes(node) {
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true
  return ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)
}

/** Reads what a file takes from a module; true when there is nothing else below. */
function readModule(state, node) {
  if (ts.isImportDeclaration(node)) {
    if (node.importClause?.isTypeOnly) return true
    const { name, namedBindings } = node.importClause ?? {}
    const whole = name !== undefined || (namedBindings !== undefined && ts.isNamespaceImport(namedBindings))
    takeFrom(state, node, node.moduleSpecifier, whole ? [undefined] : specifiersOf(namedBindings))
    return true
  }
  if (ts.isExportDeclaration(node)) {
    if (!node.isTypeOnly && node.moduleSpecifier)
      takeFrom(state, node, node.moduleSpecifier, specifiersOf(node.exportClause) ?? [undefined])
    return true
  }
  if (!ts.isCallExpression(node) || node.arguments.length === 0) return false
  const { expression } = node
  const loads =
    expression.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(expression) && expression.text === 'require') ||
    (ts.isPropertyAccessExpression(expression) && expression.name.text === 'getBuiltinModule')
  if (loads) {
    const { names } = useOf(state.parents, node)
    takeFrom(state, node, node.arguments[0], names ?? [memberOf(state.parents, node)])
  }
  return false
}

function memberOf(parents, node) {
  const { type, name } = useOf(parents, node)
  return type === 'member' ? name : undefined
}

function specifiersOf(bindings) {
  const elements = bindings?.elements
  return elements
    ?.filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ propertyName, name }) => (propertyName ?? name).text)
}

function takeFrom(state, node, specifier, names = []) {
  if (!ts.isStringLiteralLike(specifier)) return
  const module = specifier.text.replace(/^node:/, '')
  const isHarmless = modules.get(module)
  if (isHarmless === undefined) return
  for (const name of names) if (!isHarmless(name)) report(state, node, name ?? specifier.text)
}

/** A name that stands for itself: neither a member's nor one that is being declared. */
function readName(state, node) {
  const parent = state.parents.at(-1)
  const isLabel = [parent.propertyName, parent.label].includes(node)
  if (isLabel || (parent.name === node && !ts.isShorthandPropertyAssignment(parent))) return
  const name = node.text
  if (defaults.has(name)) {
    const member = ts.isPropertyAccessExpression(parent)
    const isOne = member ? isDefault(state.parents.at(-2), parent) : isDefault(parent, node)
    if (!isOne) report(state, node, name)
    return
  }
  if (!globals.has(name) || state.scopes.some((names) => names.has(name))) return
  judge(state, node, name, useOf(state.parents, node))
}

function judge(state, node, name, use) {
  if (!globals.get(name)(use)) report(state, node, sourceOf(name, use))
}

function isDefault(parent, node) {
  if (ts.isBinaryExpression(parent))
    return (
      parent.right === node &&
      [ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.QuestionQuestionEqualsToken].includes(
        parent.operatorToken.kind,
      )
    )
  return (ts.isBindingElement(parent) || ts.isParameter(parent)) && parent.initializer === node
}

function sourceOf(name, { type, name: member, names }) {
  if (name === 'globalThis' || name === 'global')
    return member ?? names?.find((one) => globals.has(one)) ?? name
  if (type === 'new') return `new ${name}()`
  const bad = member ?? names?.find((one) => !globals.get(name)({ type: 'member', name: one }))
  return bad === undefined ? name : `${name}.${bad}`
}

/** How the value of an expression is used: `{ type, name, names, count }`. */
function useOf(parents, node) {
  let at = parents.length - 1
  let inner = node
  while (wraps(parents[at])) {
    inner = parents[at]
    at -= 1
  }
  const parent = parents[at]
  if (parent === undefined) return { type: 'other' }
  if (ts.isPropertyAccessExpression(parent)) return { type: 'member', name: parent.name.text }
  if (ts.isElementAccessExpression(parent) && parent.expression === inner) {
    const { argumentExpression: key } = parent
    return { type: 'member', name: ts.isStringLiteralLike(key) ? key.text : undefined }
  }
  if (ts.isNewExpression(parent) && parent.expression === inner)
    return { type: 'new', count: parent.arguments?.length ?? 0 }
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword)
    return { type: 'instanceof' }
  if (ts.isVariableDeclaration(parent) && ts.isObjectBindingPattern(parent.name))
    return { type: 'names', names: parent.name.elements.map((one) => (one.propertyName ?? one.name).text) }
  return { type: 'other' }
}

function wraps(node) {
  return (
    node !== undefined &&
    (ts.isParenthesizedExpression(node) ||
      ts.isAsExpression(node) ||
      ts.isSatisfiesExpression(node) ||
      ts.isNonNullExpression(node) ||
      ts.isAwaitExpression(node))
  )
}

/** The names that a node declares for what is below it; undefined when it is no scope. */
function namesOf(node) {
  const names = new Set()
  const add = (name) => {
    if (name === undefined) return
    if (ts.isIdentifier(name)) names.add(name.text)
    else for (const element of name.elements) if (!ts.isOmittedExpression(element)) add(element.name)
  }
  const addAll = (list) => list?.declarations?.forEach((one) => void add(one.name))
  if (ts.isFunctionLike(node)) {
    if (ts.isFunctionExpression(node)) add(node.name)
    for (const parameter of node.parameters) add(parameter.name)
  } else if (ts.isBlock(node) || ts.isSourceFile(node) || ts.isCaseOrDefaultClause(node)) {
    for (const statement of node.statements) {
      if (ts.isVariableStatement(statement)) addAll(statement.declarationList)
      else if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) add(statement.name)
      else if (ts.isImportDeclaration(statement) && !statement.importClause?.isTypeOnly)
        addImported(statement, add)
    }
  } else if (ts.isForStatement(node) || ts.isForOfStatement(node) || ts.isForInStatement(node)) {
    addAll(node.initializer)
  } else if (ts.isCatchClause(node)) add(node.variableDeclaration?.name)
  else return undefined
  return names
}

/** A name that is imported is reported there, if at all. */
function addImported({ importClause }, add) {
  add(importClause?.name)
  const bindings = importClause?.namedBindings
  if (bindings === undefined) return
  if (ts.isNamespaceImport(bindings)) add(bindings.name)
  else for (const { name } of bindings.elements) add(name)
}

function report(state, node, source) {
  const line = state.file.getLineAndCharacterOfPosition(node.getStart(state.file)).line + 1
  state.found.push({ line, source })
}
