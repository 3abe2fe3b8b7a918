import {
  type CacheableResult,
  cacheableFields,
  type PaginatedParams,
  type PaginatedResult,
  pageFields,
  type RequestParams,
  requestFields,
} from './base.js'
import { type Resource, resource } from './content.js'
import { listOf, optional, present, record, shape, text } from './shape.js'

/** The identifier of the extension (SEP-2640, Skills). */
export const skillsExtension = 'io.modelcontextprotocol/skills'

/** A file of a skill, with the digest and the size of its bytes. */
export interface SkillResource {
  uri: string
  /** SHA-256 of the bytes: `sha256:` and 64 lowercase hexadecimal digits. */
  digest: string
  /** Bytes of the file. */
  size: number
}

/** The entry of one skill. */
export interface SkillEntry {
  /** The uri of its `SKILL.md`. */
  uri: string
  /** The YAML of its `SKILL.md`, all of it, as a JSON object. */
  frontmatter: { name: string; description: string; [field: string]: unknown }
  /** Every file, `SKILL.md` among them; `dynamic` where no digests can be told. */
  resources: SkillResource[] | 'dynamic'
}

/** Result of `skills/list`: one page of skills. */
export interface ListSkillsResult extends PaginatedResult {
  skills: SkillEntry[]
}

/** What an entry says of its files is read where it is used: one bad entry must not cost the others. */
const skill = shape<SkillEntry>({ uri: text, frontmatter: record, resources: present as never })

export const listSkillsResult = shape<ListSkillsResult>({ skills: listOf(skill), ...pageFields })

/** Params of `skills/get`: the uri of a `SKILL.md`. */
export interface GetSkillParams extends RequestParams {
  uri: string
}

export const getSkillParams = shape<GetSkillParams>({ uri: text, ...requestFields })

/** Result of `skills/get`. */
export interface GetSkillResult extends CacheableResult {
  skill: SkillEntry
}

export const getSkillResult = shape<GetSkillResult>({ skill, ...cacheableFields })

/** Params of `resources/directory/read`: the uri of a resource of type `inode/directory`. */
export interface ReadDirectoryParams extends PaginatedParams {
  uri: string
}

export const readDirectoryParams = shape<ReadDirectoryParams>({
  uri: text,
  cursor: optional(text),
  ...requestFields,
})

/** Result of `resources/directory/read`: what lies directly in it, one page. */
export interface ReadDirectoryResult extends PaginatedResult {
  resources: Resource[]
}

export const readDirectoryResult = shape<ReadDirectoryResult>({ resources: listOf(resource), ...pageFields })
