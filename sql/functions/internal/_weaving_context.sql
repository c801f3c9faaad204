create or replace function loom._weaving_context(p_loom loom.loom, p_user_id text, p_agent text) returns jsonb
language plpgsql stable
as $$
begin
  return coalesce((
    select jsonb_agg(known.text order by known.created_at, known.thread_id)
    from (
      select * from loom._weaving_threads(p_loom, '-', '-', 50, 20000) where p_user_id <> '-' or p_agent <> '-'
      union all
      select * from loom._weaving_threads(p_loom, p_user_id, '-', 50, 20000) where p_user_id <> '-' and p_agent <> '-'
    ) as known), '[]');
end
$$;
comment on function loom._weaving_context(loom.loom, text, text) is
  'What the model may know and not change: the shared threads of -, and for an agent''s own threads the shared ones of the user.';
