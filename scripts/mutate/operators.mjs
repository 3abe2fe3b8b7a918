// What a mutant changes: each operator looks at a node of the transpiled program and names the texts that could stand there instead.
import ts from 'typescript5'

const opposite = { '===': '!==', '!==': '===', '==': '!=', '!=': '==' }
const boundary = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const logic = { '&&': '||', '||': '&&' }
const undoing =
  /(?:^|\.#?)(?:remove\w*|clear\w*|delete|off|undo\w*|un\w+|release\w*|forget\w*|detach\w*|destroy|close|unlink\w*|discard|drop\w*|callOff)$/
const code = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/

/** Lists the mutants of one transpiled file in order: `{ operator, start, end, text }`, offsets into `source`. */
export function listMutants(path, source) {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.ES2023, true, ts.ScriptKind.JS)
  const found = []
  const visit = (node) => {
    for (const [operator, change] of Object.entries(operators)) {
      const made = change(node, (part) => part.getText(file))
      if (made === undefined) continue
      const [target, text] = made
      found.push({ operator, start: target.getStart(file), end: target.getEnd(), text })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** Each answers `[node to replace, new text]`, or undefined where it has nothing to change. */
const operators = {
  condition(node, text) {
    if (!ts.isIfStatement(node) && !ts.isConditionalExpression(node) && !ts.isWhileStatement(node)) return
    const condition = node.expression ?? node.condition
    return [condition, `!(${text(condition)})`]
  },
  boundary: (node) => swap(node, boundary),
  equality: (node) => swap(node, opposite),
  logic: (node) => swap(node, logic),
  call: (node, text) => (calledBy(node) && !undoing.test(text(calledBy(node))) ? [node, ';'] : undefined),
  undo: (node, text) => (calledBy(node) && undoing.test(text(calledBy(node))) ? [node, ';'] : undefined),
  await: (node, text) => (ts.isAwaitExpression(node) ? [node, `(${text(node.expression)})`] : undefined),
  default(node, text) {
    const fallback = defaultOf(node)
    const other = fallback === undefined ? undefined : otherValue(fallback, text)
    return other === undefined ? undefined : [fallback, other]
  },
  guard(node) {
    if (!ts.isIfStatement(node) || node.elseStatement !== undefined) return
    return leaves(node.thenStatement) ? [node, ';'] : undefined
  },
  finally: (node) =>
    ts.isTryStatement(node) && node.finallyBlock?.statements.length > 0
      ? [node.finallyBlock, '{}']
      : undefined,
  code: (node) =>
    ts.isStringLiteral(node) && code.test(node.text) ? [node, `'${node.text}_MUTATED'`] : undefined,
}

export const operatorNames = Object.keys(operators)

function swap(node, table) {
  if (!ts.isBinaryExpression(node)) return
  const other = table[ts.tokenToString(node.operatorToken.kind)]
  return other === undefined ? undefined : [node.operatorToken, other]
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

function leaves(statement) {
  const only = ts.isBlock(statement) ? statement.statements.at(-1) : statement
  if (only === undefined) return false
  return [ts.isReturnStatement, ts.isThrowStatement, ts.isContinueStatement, ts.isBreakStatement].some((is) =>
    is(only),
  )
}
