// Names of tests: what a person reads when one fails has to fit on a line.
import ts from 'typescript5'

const limit = 80

/**
 * Finds names of 80 characters or more in a file that `readSyntax` has parsed; returns `{ line, text }` findings. Of a
 * template only its own words count: what it is filled with is known when it runs.
 */
export function checkTestNames(path, file) {
  if (!path.startsWith('test/')) return []
  const findings = []
  const visit = (node) => {
    const name = ts.isCallExpression(node) && defines(node.expression) ? nameIn(node.arguments) : undefined
    const length = name === undefined ? 0 : wordsOf(name).length
    if (length >= limit)
      findings.push({
        line: lineOf(file, name),
        text: `name of a test: ${length} characters, at most ${limit - 1}`,
      })
    ts.forEachChild(node, visit)
  }
  visit(file)
  return findings
}

/** `test`, `test.skip`, and helpers such as `redisTest`. */
function defines(callee) {
  if (ts.isPropertyAccessExpression(callee)) return callee.name.text === 'skip' && defines(callee.expression)
  return ts.isIdentifier(callee) && /^test$|Test$/.test(callee.text)
}

/** A helper takes the suite before the name. */
function nameIn([first, second]) {
  const isName = (node) =>
    node !== undefined && (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node))
  return [first, second].find(isName)
}

function wordsOf(name) {
  if (ts.isStringLiteralLike(name)) return name.text
  return name.head.text + name.templateSpans.map(({ literal }) => literal.text).join('')
}

function lineOf(file, node) {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
}
