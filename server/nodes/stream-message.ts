import type { StreamNews, StreamReport } from '../../transports/contract/shared-streams.js'

/** To the node of the client: events of the stream that it continues. */
export type FollowNews = Extract<StreamNews, { readonly follow: string }>

/** To the node of the stream, from the one whose client continues it. */
export type FollowReport = Extract<StreamReport, { readonly type: 'follow' | 'taken' | 'stopped' }>

/** A message between nodes about event streams; plain data. */
export type StreamMessage =
  | { readonly type: 'report'; readonly report: FollowReport }
  | { readonly type: 'news'; readonly news: FollowNews }
