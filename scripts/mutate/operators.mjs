// What a mutant changes: each operator looks at a node of the transpiled program and names the text that could stand there instead.
import ts from 'typescript5'

const opposite = { '===': '!==', '!==': '===', '==': '!=', '!=': '==' }
const boundary = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const logic = { '&&': '||', '||': '&&' }
const undoing =
  /(?:^|\.#?)(?:remove\w*|clear\w*|delete|off|undo\w*|un\w+|release\w*|forget\w*|detach\w*|destroy|close|unlink\w*|discard|drop\w*|callOff)$/
const code = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/

/**
 * Lists the mutants of one transpiled file in order: `{ operator, start, end, text, isTop, place }`. `text` stands for what is between
 * the offsets; `isTop` says that it is computed once, when the module is loaded; `place` is the expression, or the block, that is
 * another one under the mutant, and `place.text` that other one.
 */
export function listMutants(path, source) {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.ES2023, true, ts.ScriptKind.JS)
  const found = []
  const visit = (node) => {
    for (const [operator, change] of Object.entries(operators)) {
      const made = change(node, (part) => part.getText(file))
      if (made === undefined) continue
      const { target, text, whole = target, instead = text } = made
      found.push({
        operator,
        start: target.getStart(file),
        end: target.getEnd(),
        text,
        isTop: isTop(whole),
        place: { node: whole, text: instead },
      })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return { file, found }
}

/**
 * Each answers what it changes, or undefined where it has nothing to change: the `target` and the `text` that a reader is shown, and
 * where these are not an expression for another, the `whole` that is, with what stands `instead`.
 */
const operators = {
  condition(node, text) {
    const condition = conditionOf(node)
    if (condition === undefined) return
    return { target: condition, text: `!(${text(condition)})` }
  },
  boundary: (node, text) => swap(node, boundary, text),
  // as a whole condition it is what `condition` tries
  equality: (node, text) => (isCondition(node) ? undefined : swap(node, opposite, text)),
  logic: (node, text) => swap(node, logic, text),
  call: (node, text) => (calledBy(node) && !undoing.test(text(calledBy(node))) ? leaveOut(node) : undefined),
  undo: (node, text) => (calledBy(node) && undoing.test(text(calledBy(node))) ? leaveOut(node) : undefined),
  await: (node, text) =>
    ts.isAwaitExpression(node) ? { target: node, text: `(${text(node.expression)})` } : undefined,
  default(node, text) {
    const fallback = defaultOf(node)
    const other = fallback === undefined ? undefined : otherValue(fallback, text)
    return other === undefined ? undefined : { target: fallback, text: other }
  },
  constant(node, text) {
    const isConstant =
      ts.isNumericLiteral(node) ||
      node.kind === ts.SyntaxKind.TrueKeyword ||
      node.kind === ts.SyntaxKind.FalseKeyword
    if (!isConstant || defaultOf(node.parent) === node || isName(node) || isCondition(node)) return
    if (ts.isVoidExpression(node.parent)) return // undefined, as a compiler writes it
    return { target: node, text: otherValue(node, text) }
  },
  guard(node) {
    if (!ts.isIfStatement(node) || node.elseStatement !== undefined) return
    if (!leaves(node.thenStatement)) return
    return { target: node, text: ';', whole: node.expression, instead: 'false' }
  },
  finally: (node) =>
    ts.isTryStatement(node) && node.finallyBlock?.statements.length > 0
      ? { target: node.finallyBlock, text: '{}' }
      : undefined,
  code: (node) =>
    ts.isStringLiteral(node) && code.test(node.text) && !isModuleName(node)
      ? { target: node, text: `'${node.text}_MUTATED'` }
      : undefined,
}

export const operatorNames = Object.keys(operators)

function conditionOf(node) {
  if (ts.isConditionalExpression(node)) return node.condition
  return ts.isIfStatement(node) || ts.isWhileStatement(node) ? node.expression : undefined
}

function isCondition(node) {
  return node.parent !== undefined && conditionOf(node.parent) === node
}

function swap(node, table, text) {
  if (!ts.isBinaryExpression(node)) return
  const other = table[ts.tokenToString(node.operatorToken.kind)]
  if (other === undefined) return
  // in brackets, since what stands at its sides may bind less
  const instead = `(${text(node.left)}) ${other} (${text(node.right)})`
  return { target: node.operatorToken, text: other, whole: node, instead }
}

function leaveOut(statement) {
  return { target: statement, text: ';', whole: statement.expression, instead: 'void 0' }
}

/** What a statement calls and does nothing else with; a call of `super` has to stay. */
function calledBy(node) {
  if (!ts.isExpressionStatement(node)) return
  let call = node.expression
  while (ts.isAwaitExpression(call) || ts.isVoidExpression(call)) call = call.expression
  if (!ts.isCallExpression(call) || call.expression.kind === ts.SyntaxKind.SuperKeyword) return
  return call.expression
}

function defaultOf(node) {
  if (ts.isParameter(node) || ts.isBindingElement(node)) return node.initializer
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
    return node.right
}

function otherValue(node, text) {
  if (ts.isNumericLiteral(node)) return `(${text(node)} * 2 + 1)`
  if (node.kind === ts.SyntaxKind.TrueKeyword) return 'false'
  if (node.kind === ts.SyntaxKind.FalseKeyword) return 'true'
  if (ts.isStringLiteral(node)) return node.text === '' ? "'mutated'" : "''"
  if (text(node) === 'Number.POSITIVE_INFINITY') return '1'
}

function isTop(node) {
  for (let above = node.parent; above !== undefined; above = above.parent) {
    const isField = ts.isPropertyDeclaration(above) && !above.modifiers?.some(isStatic)
    if (ts.isFunctionLike(above) || isField) return false
  }
  return true
}

function isStatic({ kind }) {
  return kind === ts.SyntaxKind.StaticKeyword
}

/** The name of a property is no value of the program. */
function isName(node) {
  return node.parent.name === node || node.parent.propertyName === node
}

function isModuleName(node) {
  return ts.isImportDeclaration(node.parent) || ts.isExportDeclaration(node.parent)
}

function leaves(statement) {
  const only = ts.isBlock(statement) ? statement.statements.at(-1) : statement
  if (only === undefined) return false
  return [ts.isReturnStatement, ts.isThrowStatement, ts.isContinueStatement, ts.isBreakStatement].some((is) =>
    is(only),
  )
}
