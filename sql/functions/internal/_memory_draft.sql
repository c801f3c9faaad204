create or replace function loom._memory_draft(p_old loom.memory, p_live boolean, p_type text, p_request jsonb)
returns loom.memory
language plpgsql immutable
as $$
declare
  v_new loom.memory := p_old;
  v_limit integer;
begin
  if not p_live then
    v_new := loom._memory_fresh(p_old, coalesce(p_type, 'semantic'));
  elsif p_type <> p_old.memory_type then
    v_new.memory_type := p_type;
    v_new.char_limit := case p_type
      when 'profile' then least(p_old.char_limit, 65536) else p_old.char_limit end;
  end if;
  v_limit := loom._char_limit(p_request, case v_new.memory_type when 'profile' then 65536 else 262144 end);
  v_new.char_limit := coalesce(v_limit, v_new.char_limit);
  return v_new;
end
$$;
comment on function loom._memory_draft(loom.memory, boolean, text, jsonb) is
  'What a set writes on: the current row, or a fresh one of the type where none is current; with the type and char_limit the request names. A row of type profile has the profile''s limits. LM406.';
