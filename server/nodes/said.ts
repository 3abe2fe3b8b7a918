import type { StreamNews, StreamReport } from '../../transports/contract/shared-streams.js'

/** What is told of a stream that is taken up elsewhere. */
export type FollowNews = Extract<StreamNews, { readonly follow: string }>

/** What is said by who takes up a stream. */
export type FollowReport = Extract<StreamReport, { readonly type: 'follow' | 'taken' | 'stopped' }>

/** What one node says to another of their event streams; plain data. */
export type Said =
  | { readonly type: 'report'; readonly report: FollowReport }
  | { readonly type: 'news'; readonly news: FollowNews }
