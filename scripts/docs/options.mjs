// The tables of all options, from the types and docstrings of what the doors export.
/** The page, as Markdown. */
export function optionsPage(project) {
  const seen = new Map()
  for (const door of project.children ?? [])
    for (const type of door.children ?? [])
      if (/Options$/.test(type.name) && propertiesOf(type).length > 0 && !seen.has(type.name))
        seen.set(type.name, { type, door: door.name })
  const doors = [...new Set([...seen.values()].map(({ door }) => door))]
  const text = doors.flatMap((door) => [
    `## ${door}\n`,
    ...[...seen.values()]
      .filter((entry) => entry.door === door)
      .sort((a, b) => a.type.name.localeCompare(b.type.name))
      .map(({ type }) => tableOf(type)),
  ])
  return `# Options\n\nAll options of all functions, by the type that has them.\n\n${text.join('\n')}`
}

function tableOf(type) {
  const rows = propertiesOf(type).map((property) => {
    const { about, standard } = split(commentOf(property))
    const name = `\`${property.name}\`${property.flags.isOptional ? '' : ' (needed)'}`
    return `| ${name} | \`${cell(typeOf(property))}\` | ${cell(standard)} | ${cell(about)} |`
  })
  const about = commentOf(type)
  return [
    `### ${type.name}\n`,
    ...(about === '' ? [] : [`${about}\n`]),
    '| option | type | default | what it is |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}

function propertiesOf(type) {
  const own = type.children ?? partsOf(type.type)
  return own.filter(({ name }) => !name.startsWith('__'))
}

/** What an alias of an object, or of several together, has. */
function partsOf(type) {
  if (type?.type === 'reflection') return type.declaration.children ?? []
  return type?.type === 'intersection' ? type.types.flatMap(partsOf) : []
}

/** Sentences that begin with `Default` are a column of their own. */
function split(text) {
  const sentences = text.split(/(?<=[.)]) (?=[A-Z`])/)
  const standard = sentences.filter((sentence) => /^Defaults? /.test(sentence))
  const about = sentences.filter((sentence) => !standard.includes(sentence)).join(' ')
  return {
    about,
    standard: standard.map((text) => text.replace(/^Defaults?:? /, '').replace(/\.$/, '')).join('; '),
  }
}

function commentOf(reflection) {
  const { comment, signatures, type } = reflection
  const own = comment ?? signatures?.[0]?.comment ?? type?.declaration?.signatures?.[0]?.comment
  return (own?.summary ?? [])
    .map(({ text }) => text)
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function typeOf({ type, signatures }) {
  const text = type?.toString() ?? signatures?.[0]?.toString() ?? 'function'
  return text === 'Object' || text.length > 90 ? shortened(text) : text
}

function shortened(text) {
  return text === 'Object' ? 'object' : `${text.slice(0, 87)}...`
}

/** What can stand in a table. */
function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
