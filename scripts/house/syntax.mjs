// Reads one TypeScript file: what it imports, and which forms the house does not use.
import ts from 'typescript5'

/**
 * Parses `text` and returns `{ imports, findings, file }`. An import is `{ specifier, line, typeOnly }`, also for
 * `export ... from`, `import()` and `import('x').T`; a finding is `{ line, text }`. `inLibrary` turns on the
 * rules that hold for the floors only.
 */
export function readSyntax(path, text, inLibrary) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false, ts.ScriptKind.TS)
  const state = { file, imports: [], findings: [], inLibrary }
  for (const statement of file.statements) {
    if (inLibrary) checkModuleLevel(state, statement)
    visit(state, statement, true)
  }
  return { imports: state.imports, findings: state.findings, file }
}

function visit(state, node, atTop) {
  readImport(state, node)
  const rule = forbidden.get(node.kind)
  if (rule) report(state, node, rule)
  // an example shows what users write
  const isExample = state.file.fileName.startsWith('test/examples/')
  if (state.inLibrary && parsesTarget(state, node))
    report(
      state,
      node,
      'new URL of a request: it throws for //; pathOf and queryOf (transports/base/target.ts)',
    )
  if (hasDefault(node) && !isExample) report(state, node, 'export default: export by name')
  const awaits =
    node.kind === ts.SyntaxKind.AwaitExpression || (ts.isForOfStatement(node) && node.awaitModifier)
  if (awaits && atTop && state.inLibrary)
    report(state, node, 'top-level await: require() of the package would fail')
  const inside = atTop && !ts.isFunctionLike(node) && !ts.isClassStaticBlockDeclaration(node)
  ts.forEachChild(node, (child) => visit(state, child, inside))
}

const forbidden = new Map([
  [ts.SyntaxKind.AnyKeyword, 'any: say unknown and check, or infer'],
  [ts.SyntaxKind.EnumDeclaration, 'enum: use a union of literals'],
  [ts.SyntaxKind.ModuleDeclaration, 'namespace: a file is the module'],
  [ts.SyntaxKind.NonNullExpression, 'non-null !: check the value, or shape the type so that it is there'],
])

/** Whether an address is made of what a client wrote as the target of its request. */
function parsesTarget({ file }, node) {
  if (!ts.isNewExpression(node) || node.expression.getText(file) !== 'URL') return false
  return /\b(?:request|req|incoming)\??\.url\b/.test(node.arguments?.[0]?.getText(file) ?? '')
}

function hasDefault(node) {
  if (ts.isExportAssignment(node)) return true
  return (
    ts.canHaveModifiers(node) &&
    (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)
  )
}

function readImport(state, node) {
  const add = (specifier, typeOnly) => {
    if (specifier && ts.isStringLiteralLike(specifier))
      state.imports.push({ specifier: specifier.text, line: lineOf(state, node), typeOnly })
  }
  if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node.importClause?.isTypeOnly === true)
  if (ts.isExportDeclaration(node)) {
    add(node.moduleSpecifier, node.isTypeOnly)
    if (node.moduleSpecifier && !node.exportClause && state.inLibrary)
      report(state, node, 'export *: list the names')
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true)
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    add(node.arguments[0], false)
}

/**
 * Nothing at module level may change: no `let`, and no collection that starts empty, since it can only be
 * there to be filled.
 */
function checkModuleLevel(state, statement) {
  if (!ts.isVariableStatement(statement)) return
  const { declarationList } = statement
  if (!(declarationList.flags & ts.NodeFlags.Const))
    report(state, statement, 'let at module level: keep state in an actor')
  for (const { initializer } of declarationList.declarations) {
    if (initializer && startsEmpty(initializer))
      report(
        state,
        initializer,
        'empty collection at module level: it can only be there to be filled; keep state in an actor',
      )
  }
}

function startsEmpty(node) {
  if (ts.isArrayLiteralExpression(node)) return node.elements.length === 0
  if (!ts.isNewExpression(node) || !ts.isIdentifier(node.expression)) return false
  return ['Map', 'Set', 'Array'].includes(node.expression.text) && !node.arguments?.length
}

function report(state, node, text) {
  state.findings.push({ line: lineOf(state, node), text })
}

function lineOf(state, node) {
  return lineAt(state, node.getStart(state.file))
}

function lineAt({ file }, position) {
  return file.getLineAndCharacterOfPosition(position).line + 1
}
