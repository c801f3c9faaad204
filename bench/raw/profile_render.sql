with section as (
  select memory_key, content_sha256, '<section label="' || memory_key || '" user="' || user_id || '">'
    || replace(replace(replace(value #>> '{}', '&', '&amp;'), '<', '&lt;'), '>', '&gt;')
    || '</section>' as body
  from bench.memory
  where org = %(org)s and namespace = %(namespace)s and user_id = %(user_id)s
    and memory_type = 'profile' and deleted_at is null
    and (expires_at is null or expires_at > now())
), rendered as (
  select E'<profile>\n' || string_agg(body, E'\n' order by memory_key) || E'\n</profile>' as body,
    array_agg(content_sha256 order by memory_key) as parts
  from section
)
select body, parts, encode(sha256(convert_to(body, 'UTF8')), 'hex') from rendered
