with block as (
  select block_key, content_sha256, '<working-memory block="' || block_key || '">'
    || replace(replace(replace(content, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')
    || '</working-memory>' as body
  from bench.block
  where org = %(org)s and namespace = %(namespace)s and agent = %(agent)s and user_id = %(user_id)s
    and session_id = '-' and run_id = '-' and deleted_at is null
), rendered as (
  select string_agg(body, E'\n' order by block_key) as body,
    array_agg(content_sha256 order by block_key) as parts
  from block
)
select body, parts, encode(sha256(convert_to(body, 'UTF8')), 'hex') from rendered
