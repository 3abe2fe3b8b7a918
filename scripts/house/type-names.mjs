// A name of a type stands once in a floor: whoever reads it elsewhere need not ask which one is meant.
import ts from 'typescript5'

/** Floors in which the rule holds. */
const kept = new Set(['runtime', 'protocol', 'transports', 'client', 'command', 'server'])

/** The types that files declare at their top level, as they are read one after the other. */
export function createTypeNames() {
  const places = new Map()

  /** Takes a file of the library, as `readSyntax` has parsed it; returns `{ line, text }` findings. */
  function read(path, file) {
    const floor = path.split('/')[0]
    if (!kept.has(floor)) return []
    return file.statements.filter(isType).flatMap((statement) => {
      const name = statement.name?.text
      const known = places.get(`${floor}/${name}`)
      if (known === undefined) places.set(`${floor}/${name}`, path)
      // an interface, or a class and its interface, may be declared in parts
      if (known === undefined || known === path) return []
      const { line } = file.getLineAndCharacterOfPosition(statement.getStart(file))
      return [{ line: line + 1, text: `type ${name} stands in ${known}, too: one name, one type in a floor` }]
    })
  }

  return { read }
}

function isType(node) {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)
}
