import {
  annotationsOf,
  field,
  isLoggingLevel,
  isWantedLevel,
  limitCompletion,
  loggingLevels,
  maxCompletionValues,
  parseUriTemplate,
  readFrontMatter,
  readSkillFiles,
  schemaLimits,
  skillLimits,
  toSchema,
} from 'caduceus/protocol'

// fields, schemas of any library, and JSON Schema: all become the same thing
const schema = toSchema(
  field.group({ email: field.string({ min: 3 }), age: field.integer({ min: 0 }).optional() }),
)
console.log(JSON.stringify(schema.jsonSchema.required))
const read = await schema.parse({ email: 7, age: -1 })
if ('issues' in read) for (const { path, message } of read.issues) console.log(path, message)
console.log(schemaLimits.maxDepth)

// URI templates (RFC 6570), both ways
const template = parseUriTemplate('notes://{year}/{+path}{?page}')
console.log(template.variables.join(), template.expand({ year: '2026', path: 'may/first', page: '2' }))
console.log({ ...template.match('notes://2026/may/first') })

// skills: a page with a head of YAML, and files with digests
const page = '---\nname: review\ndescription: Reviews code.\n---\nRead the diff first.\n'
const frontmatter = (await readFrontMatter(page)) as { name: string; description: string }
console.log(frontmatter.name)
const files = readSkillFiles({ uri: 'skill://review/SKILL.md', frontmatter, resources: 'dynamic' })
console.log(files, skillLimits.files)

// small rules of the specification
console.log(loggingLevels.length, isLoggingLevel('loud'), isWantedLevel('error', 'warning'))
const values = Array.from({ length: 150 }, (_, index) => String(index))
const { hasMore, total } = limitCompletion({ values })
console.log(maxCompletionValues, hasMore, total)
console.log(
  annotationsOf({ type: 'text', text: 'hi', annotations: { audience: ['user'] } })?.audience?.join(),
)
