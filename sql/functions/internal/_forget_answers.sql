create or replace function loom._forget_answers(p_org text, p_user_id text, p_ids uuid[]) returns void
language plpgsql volatile
set search_path = loom, pg_temp
as $$
begin
  delete from loom.idempotency as kept
  using loom.idempotency_user as named
  where named.org = p_org and named.user_id = p_user_id
    and kept.org = p_org and kept.actor = named.actor and kept.op = named.op and kept.key = named.key
    and exists (select from unnest(p_ids) as id where strpos(kept.answer::text, id::text) > 0);
end
$$;
comment on function loom._forget_answers(text, text, uuid[]) is
  'Removes stored answers that speak of redacted rows: a receipt holds the hash of the text.';
