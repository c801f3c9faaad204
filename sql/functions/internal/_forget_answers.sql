create or replace function loom._forget_answers(p_row loom.memory, p_derived uuid[]) returns void
language plpgsql volatile
as $$
declare
  v_ids uuid[] := p_row.memory_id || p_derived;
  v_marks text[] := array(select id::text from unnest(v_ids) as id)
    -- A dry run before the first write knows no id.
    || format('"memory_key": %s', to_jsonb(p_row.memory_key));
  v_hashes text[] := array(select distinct content_sha256 from loom.memory_version
    where org = p_row.org and memory_id = any (v_ids) and content_sha256 is not null);
begin
  delete from loom.idempotency as kept
  using loom.idempotency_user as named
  where named.org = p_row.org and named.user_id in (p_row.user_id, '*')
    and kept.org = p_row.org and kept.actor = named.actor and kept.op = named.op and kept.key = named.key
    -- What may speak of anyone may be a rendered text, which names no ids.
    and (named.user_id = '*'
      or exists (select from unnest(v_marks) as mark where strpos(kept.answer::text, mark) > 0)
      -- The refusal of a batch's item names the hash and nothing else.
      or (named.op = 'batch'
        and exists (select from unnest(v_hashes) as mark where strpos(kept.answer::text, mark) > 0)));
end
$$;
comment on function loom._forget_answers(loom.memory, uuid[]) is
  'Removes stored answers that speak of a redacted row or of rows made from it: a receipt holds the hash of the text. Called while the hashes are known.';
